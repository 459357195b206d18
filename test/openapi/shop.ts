import {
  All,
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Patch,
  Post,
  Put,
  type INestApplication,
} from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiExcludeEndpoint,
  ApiExtension,
  ApiHeader,
  ApiOperation,
  ApiProperty,
  ApiResponse,
  DocumentBuilder,
  SwaggerModule,
  type OpenAPIObject,
} from '@nestjs/swagger';
import { Validator } from '@seriousme/openapi-schema-validator';
import { fernIdempotencyHeaders, Idempotent } from 'nestjs-atomic-idempotency';

export class NewOrder {
  @ApiProperty()
  sku!: string;
}

export class Order extends NewOrder {
  @ApiProperty()
  id!: number;
}

@Controller({ path: 'orders', version: '1' })
export class OrdersController {
  private orders = 0;

  @Post()
  @Idempotent()
  @ApiOperation({ summary: 'Orders something', description: 'It is shipped at once.' })
  @ApiCreatedResponse({ type: Order, headers: { 'X-Cost': { schema: { type: 'integer' } } } })
  create(@Body() { sku }: NewOrder): Order {
    return { id: ++this.orders, sku };
  }

  @Post('optional')
  @HttpCode(200)
  @Idempotent({ required: false, retention: 'forever', onMismatch: 'replay', scope: () => 'me' })
  optional(@Headers('idempotency-key') key: string): { key: string } {
    return { key };
  }

  @Post('by-reference')
  @Idempotent({ key: (request: { body: { reference?: string } }) => request.body.reference })
  byReference(): void {}

  @Post('waiting')
  @Idempotent({ onInProgress: 'wait', waitFor: '20s', onExpired: 'gone', retention: '7d' })
  waiting(): void {}

  @Post('accepting')
  @Idempotent({ onInProgress: 'accept' })
  accepting(): void {}

  @Post('described')
  @ApiHeader({ name: 'idempotency-key', description: 'Ours.', required: false })
  @ApiConflictResponse({ description: 'Out of stock.' })
  @ApiExtension('x-fern-idempotent', 'by hand')
  @ApiExtension('x-owner', 'orders')
  @Idempotent()
  described(): void {}

  @Post('hidden')
  @ApiExcludeEndpoint()
  @Idempotent()
  hidden(): void {}

  @Put('replaced')
  @Idempotent()
  replaced(): void {}

  @Put('demanding')
  @Idempotent({ required: true })
  demanding(): void {}

  @All('anything')
  @Idempotent()
  anything(): void {}

  @Post('plain')
  plain(): void {}
}

@Controller('notes')
@Idempotent({ retention: '1h' })
@ApiResponse({ status: 503, description: 'Ours, for the whole class.' })
export class NotesController {
  /** As the compiler plug-in of swagger adds it. */
  static _OPENAPI_METADATA_FACTORY() {
    return {
      add: { summary: 'Adds a note', description: 'From a comment.', type: Order },
      change: { type: [Order] },
    };
  }

  @Post()
  add(): void {}

  @Patch()
  change(): void {}

  @Get()
  list(): void {}
}

/** The document of an application, as applications make it. */
export function documentOf(app: INestApplication, openapi: '3.0.0' | '3.1.0' = '3.0.0') {
  const config = new DocumentBuilder()
    .setTitle('Shop')
    .setVersion('1')
    .setOpenAPIVersion(openapi)
    .addExtension('x-fern-idempotency-headers', fernIdempotencyHeaders(app))
    .build();
  // As it is served: without what JSON cannot say.
  return JSON.parse(JSON.stringify(SwaggerModule.createDocument(app, config))) as OpenAPIObject;
}

/** What a validator has to say against a document. */
export async function faultsOf(document: OpenAPIObject): Promise<unknown> {
  const copy = structuredClone(document);
  // Swagger lists it for @All(), and OpenAPI does not know the method.
  for (const path of Object.values(copy.paths)) delete (path as { search?: unknown }).search;
  const { valid, errors } = await new Validator().validate({ ...copy });
  return valid ? [] : errors;
}
