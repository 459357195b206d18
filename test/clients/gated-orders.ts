import { Body, Controller, HttpException, Post } from '@nestjs/common';
import { Idempotent } from 'nestjs-atomic-idempotency';
import { barrier, type Barrier } from '../support/barrier.js';

interface Order {
  item: string;
}

/**
 * Orders whose handlers wait at a gate, under both policies that can serve a
 * client which gives up early and retries.
 */
export function gatedOrders() {
  const workshop = { executions: 0, gate: barrier() };

  async function make({ item }: Order) {
    workshop.executions += 1;
    const order = workshop.executions;
    await workshop.gate.pass();
    if (item.startsWith('fails '))
      throw new HttpException({ error: { message: item } }, Number(item.slice(6)));
    return { order, item };
  }

  @Controller('v1')
  class OrdersController {
    @Post('rejecting-orders')
    @Idempotent({ onInProgress: 'reject' })
    createOrReject(@Body() order: Order) {
      return make(order);
    }

    @Post('waiting-orders')
    @Idempotent({ onInProgress: 'wait' })
    createOrWait(@Body() order: Order) {
      return make(order);
    }
  }

  return {
    controller: OrdersController,
    workshop,
    /** Counts from the beginning, at a gate that is shut. */
    startAnew(): Barrier {
      workshop.executions = 0;
      return (workshop.gate = barrier());
    },
  };
}
