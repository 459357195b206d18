import {
  Injectable,
  Scope,
  UseGuards,
  UsePipes,
  ValidationPipe,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  Args,
  createUnionType,
  Field,
  GqlExecutionContext,
  GraphQLModule,
  ID,
  InputType,
  Int,
  InterfaceType,
  Mutation,
  ObjectType,
  Parent,
  Query,
  registerEnumType,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { Min } from 'class-validator';
import { GraphQLScalarType, Kind } from 'graphql';
import { AtomicPhase, Idempotent } from 'nestjs-atomic-idempotency';
import { send, type Sending } from '../support/http.js';
import {
  startIdempotentApp,
  type IdempotentApp,
  type IdempotentAppOptions,
} from '../support/idempotent-app.js';
import type { Platform } from '../support/platforms.js';

export enum OrderState {
  Open = 1,
  Paid = 2,
}
registerEnumType(OrderState, { name: 'OrderState' });

/** Strict, as scalars may be: another kind of value is an error. */
const BigIntScalar = new GraphQLScalarType<bigint, string>({
  name: 'BigInt',
  serialize(value) {
    if (typeof value !== 'bigint') throw new TypeError(`${typeof value} is no bigint`);
    return value.toString();
  },
  parseValue: (value) => BigInt(value as string),
  parseLiteral: (ast) => BigInt(ast.kind === Kind.STRING ? ast.value : 0),
});

@ObjectType()
export class Order {
  @Field(() => ID)
  id!: string;

  @Field()
  item!: string;

  @Field()
  createdAt!: Date;

  @Field(() => OrderState)
  state!: OrderState;

  @Field(() => BigIntScalar)
  total!: bigint;

  @Field(() => [Line])
  lines!: Line[];

  @Field(() => String, { nullable: true })
  note!: string | null;

  @Field()
  get label(): string {
    return `${this.item} (${this.id})`;
  }
}

@ObjectType()
export class Line {
  @Field()
  sku!: string;

  @Field(() => Order)
  order!: Order;
}

@InterfaceType()
export abstract class Receipt {
  @Field(() => Int)
  amount!: number;
}

@ObjectType({ implements: () => [Receipt] })
export class CardPayment extends Receipt {
  @Field()
  last4!: string;
}

@ObjectType({ implements: () => [Receipt] })
export class BankPayment extends Receipt {
  @Field()
  iban!: string;
}

/** Told apart by their classes, as @nestjs/graphql does where nobody says otherwise. */
const Payment = createUnionType({
  name: 'Payment',
  types: () => [CardPayment, BankPayment] as const,
});

@InputType()
export class OrderInput {
  @Field()
  item!: string;

  @Field(() => Int, { defaultValue: 1 })
  @Min(1)
  quantity!: number;

  @Field(() => Date, { nullable: true })
  due?: Date;
}

/** What the mutations do, which is up to each test. */
@Injectable()
export class Desk {
  runs = 0;
  work: (input: any, phases: AtomicPhase) => unknown = () => undefined;

  run(input: unknown, phases: AtomicPhase): unknown {
    this.runs += 1;
    return this.work(input, phases);
  }

  order(item: string, more: Partial<Order> = {}): Order {
    const order = Object.assign(new Order(), {
      id: String(this.runs),
      item,
      createdAt: new Date(Date.UTC(2026, 0, this.runs)),
      state: OrderState.Paid,
      total: 2n ** 60n + BigInt(this.runs),
      note: null,
      ...more,
    });
    order.lines = [Object.assign(new Line(), { sku: `${item}-1`, order })];
    return order;
  }
}

/** Puts the caller on the request, as guards do. */
@Injectable()
class CallerGuard implements CanActivate {
  canActivate(execution: ExecutionContext): boolean {
    const { req } = GqlExecutionContext.create(execution).getContext();
    // Of a WebSocket: what its client said when it connected.
    req.user = req.headers ? (req.headers['x-user'] ?? 'ada') : req.connectionParams.user;
    return req.user !== 'mallory';
  }
}

@UseGuards(CallerGuard)
@Resolver(() => Order)
export class OrdersResolver {
  constructor(
    private readonly desk: Desk,
    private readonly phases: AtomicPhase,
  ) {}

  @Query(() => String)
  ping(): string {
    return 'pong';
  }

  @Idempotent()
  @Mutation(() => Order, { nullable: true })
  @UsePipes(new ValidationPipe({ transform: true }))
  createOrder(@Args('input') input: OrderInput): unknown {
    return this.desk.run(input, this.phases);
  }

  @Mutation(() => [Payment])
  @Idempotent()
  pay(@Args('amount', { type: () => Int }) amount: number): unknown {
    return this.desk.run(amount, this.phases);
  }

  @Mutation(() => Receipt)
  @Idempotent()
  refund(@Args('amount', { type: () => Int }) amount: number): unknown {
    return this.desk.run(amount, this.phases);
  }

  @Mutation(() => String)
  @Idempotent({ key: (args: { reference: string }) => args.reference, keepRequest: true })
  remind(@Args('reference') reference: string, @Args('text') text: string): unknown {
    return this.desk.run({ reference, text }, this.phases);
  }

  @Mutation(() => String)
  @Idempotent({ required: false, phased: true, onInProgress: 'wait' })
  ship(@Args('item') item: string): unknown {
    return this.desk.run(item, this.phases);
  }

  @Mutation(() => Int)
  unprotected(): number {
    return (this.desk.runs += 1);
  }

  @ResolveField(() => String)
  dated(@Parent() order: Order): string {
    return `${order.label} of ${order.createdAt.getUTCFullYear()}`;
  }
}

/** Made anew for each request. */
@Resolver()
@Injectable({ scope: Scope.REQUEST })
export class CancelResolver {
  private readonly made = Symbol();

  constructor(private readonly desk: Desk) {}

  @Mutation(() => String)
  @Idempotent({ scope: 'global' })
  cancel(@Args('id') id: string): string {
    this.desk.runs += 1;
    return `${id} ${typeof this.made}`;
  }
}

export const drivers = ['apollo', 'mercurius'] as const;
export type DriverName = (typeof drivers)[number];

type DriverOptions = Partial<ApolloDriverConfig & MercuriusDriverConfig>;

export function graphql(driver: DriverName, options: DriverOptions = {}) {
  const common = { autoSchemaFile: true, path: '/graphql', ...options };
  return driver === 'apollo'
    ? GraphQLModule.forRoot<ApolloDriverConfig>({
        driver: ApolloDriver,
        graphiql: false,
        includeStacktraceInErrorResponses: false,
        ...common,
      } as ApolloDriverConfig)
    : GraphQLModule.forRoot<MercuriusDriverConfig>({
        driver: MercuriusDriver,
        ...common,
      } as MercuriusDriverConfig);
}

export interface Answered {
  status: number;
  headers: Headers;
  data: any;
  errors: { message: string; path: unknown; extensions: Record<string, any> }[] | undefined;
}

export interface Mutating {
  key?: string | undefined;
  variables?: Record<string, unknown>;
  headers?: Sending['headers'];
}

export interface Shop extends IdempotentApp {
  desk: Desk;
  mutate(document: string, mutating?: Mutating): Promise<Answered>;
  /** The endpoints under which a key has records, and their states. */
  records(key: string): Promise<Record<string, string>>;
}

export async function startShop(
  platform: Platform,
  driver: DriverName,
  { driverOptions, resolvers = [], ...options }: ShopOptions = {},
): Promise<Shop> {
  const app = await startIdempotentApp(platform, {
    logger: false,
    ...options,
    idempotency: { scope: (request: { user?: string }) => request.user, ...options.idempotency },
    imports: [graphql(driver, driverOptions), ...(options.imports ?? [])],
    providers: [Desk, OrdersResolver, CancelResolver, ...resolvers, ...(options.providers ?? [])],
  });
  return {
    ...app,
    desk: app.app.get(Desk),
    mutate: (document, mutating) => mutate(app.url, document, mutating),
    async records(key) {
      const rows = await app.database.query<{ endpoint: string; status: string }>(
        'SELECT endpoint, status FROM idempotency_keys WHERE key = $1 ORDER BY endpoint',
        [key],
      );
      return Object.fromEntries(rows.map(({ endpoint, status }) => [endpoint, status]));
    },
  };
}

export interface ShopOptions extends IdempotentAppOptions {
  driverOptions?: DriverOptions;
  resolvers?: Type[];
}

export async function mutate(
  url: string,
  query: string,
  { key, variables, headers }: Mutating = {},
): Promise<Answered> {
  const received = await send(`${url}/graphql`, {
    ...(key !== undefined && { key }),
    ...(headers && { headers }),
    body: { query, variables },
  });
  const { data, errors } = received.json();
  return { status: received.status, headers: received.headers, data, errors };
}
