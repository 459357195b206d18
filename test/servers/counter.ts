import { Controller, Module, Post } from '@nestjs/common';
import { emit, serve } from '../support/child-server.js';

let executions = 0;

@Controller('executions')
class CounterController {
  @Post()
  count() {
    executions += 1;
    emit('executed', executions);
    return { executions };
  }
}

@Module({ controllers: [CounterController] })
class CounterModule {}

await serve(CounterModule, { commands: { executions: () => executions } });
