// A phased route that charges twice. The calls are noted in the database by a connection of
// their own, as another system would note them, so that the test can kill the process anywhere.
import { Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent, IdempotencyModule } from 'nestjs-atomic-idempotency';
import pg from 'pg';
import { barrier } from '../support/barrier.js';
import { emit, serve } from '../support/child-server.js';

const { DATABASE = '', HOLD } = process.env;
const gate = barrier();
const books = new pg.Pool({ connectionString: DATABASE, max: 1 });

@Controller()
class ChargesController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post('repeatable')
  @Idempotent({ phased: true })
  repeatable() {
    return this.charge('repeat');
  }

  @Post('once')
  @Idempotent({ phased: true })
  once() {
    return this.charge('stop');
  }

  private async charge(inDoubt: 'repeat' | 'stop') {
    for (const name of ['first', 'second']) {
      await this.phase.foreign(name, {
        inDoubt,
        call: async ({ idempotencyKey }) => {
          await books.query('INSERT INTO charges (name, effect_key) VALUES ($1, $2)', [
            name,
            idempotencyKey,
          ]);
          emit(name);
          // The test may lock the key meanwhile.
          if (name === HOLD) await gate.pass();
          return { name };
        },
      });
    }
    return { charged: 2 };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({ scope: 'global', maintenance: false }),
  ],
  controllers: [ChargesController],
})
class ChargesModule {}

await serve(ChargesModule, { commands: { goOn: () => gate.open() } });
