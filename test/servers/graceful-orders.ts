// Orders in a process that ends by SIGTERM as Nest intends it: with shutdown hooks.
import { Controller, Module, Post } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AtomicPhase, Idempotent, IdempotencyModule } from 'nestjs-atomic-idempotency';
import { barrier } from '../support/barrier.js';
import { emit, serve } from '../support/child-server.js';
import { ShutdownProbe } from '../support/shutdown-probe.js';

const { DATABASE = '', SHUTDOWN_TIMEOUT = '10s' } = process.env;

const gate = barrier();

@Controller('orders')
class OrdersController {
  constructor(private readonly phase: AtomicPhase) {}

  @Post()
  @Idempotent()
  async create() {
    const { key, signal } = this.phase.current!;
    signal.addEventListener('abort', () => emit('aborted', key));
    emit('began', key);
    await gate.pass();
    return { order: key };
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: DATABASE, autoLoadEntities: true }),
    IdempotencyModule.forRoot({ scope: 'global', shutdownTimeout: SHUTDOWN_TIMEOUT }),
  ],
  controllers: [OrdersController, ShutdownProbe],
})
class OrdersModule {}

await serve(OrdersModule, {
  configure: (app) => {
    app.enableShutdownHooks();
  },
  commands: { open: () => gate.open() },
});
