import { Module, type DynamicModule } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { AppModule } from '../app.module.js';
import type { Configuration } from '../configuration.js';
import { RidesModule } from '../rides/rides.module.js';
import { RidesResolver } from './rides.resolver.js';

/** Rocket Rides with `POST /graphql` beside its routes. */
@Module({})
export class GraphqlAppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: GraphqlAppModule,
      imports: [
        AppModule.forRoot(configuration),
        GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true }),
        RidesModule,
      ],
      providers: [RidesResolver],
    };
  }
}
