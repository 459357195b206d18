/** What is used of @nestjs/microservices, which need not be installed where there are no messages. */
export interface Microservices {
  RpcException: new (error: string | object) => Error;
  KafkaRetriableException: new (error: string | object) => Error;
  ClientRMQ: Class;
  ClientKafka: Class;
  ClientNats: Class;
  RmqRecordBuilder: new (data: unknown) => {
    setOptions(options: object): { build(): unknown };
  };
  NatsRecordBuilder: new (data: unknown) => { setHeaders(headers: unknown): { build(): unknown } };
}

type Class = abstract new (...args: never[]) => unknown;

let loaded: Promise<Microservices> | undefined;

/** The application's own copy: Nest knows its exceptions and records by their classes. */
export function microservices(): Promise<Microservices> {
  return (loaded ??= import('@nestjs/microservices'));
}
