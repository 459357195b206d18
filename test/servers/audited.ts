/** Modules for the command line's audit. Nothing listens where their database would be. */
import 'reflect-metadata';
import { All, Controller, Delete, Get, Module, Patch, Post, Put, Version } from '@nestjs/common';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyModule, Idempotent, NotIdempotent } from 'nestjs-atomic-idempotency';

class Routes {
  @Post('inherited')
  inherited() {}
}

@Controller(['orders', 'purchases'])
export class OrdersController extends Routes {
  @Get()
  list() {}

  @Post()
  @Idempotent({ retention: '48h', isFinal: ({ status }) => status < 500 })
  create() {}

  @Put(':id')
  replace() {}

  @Delete(':id')
  remove() {}

  @Patch(':id')
  @Version('2')
  change() {}

  @All('anything')
  anything() {}

  @Post('search')
  @NotIdempotent('only reads')
  search() {}

  @MessagePattern({ cmd: 'order' })
  ordered(_order: unknown) {}

  @EventPattern('order.paid')
  paid(_order: unknown) {}
}

@NotIdempotent('for tests')
@Controller('exempt')
export class ExemptController {
  @Post()
  create() {}
}

@Controller('safe')
@Idempotent()
export class SafeController {
  @Post()
  create() {}
}

const imports = [
  TypeOrmModule.forRoot({ type: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' }),
  IdempotencyModule.forRoot({ scope: 'global' }),
];

@Module({ imports, controllers: [OrdersController, ExemptController, SafeController] })
export class AppModule {}

@Module({ imports, controllers: [SafeController, ExemptController] })
export class CoveredModule {}

/** As a class whose forRoot() brings everything. */
@Module({ imports })
export class EmptyModule {}

export const dynamic = { module: CoveredModule };
