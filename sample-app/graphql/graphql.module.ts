import { Module } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { RidesModule } from '../rides/rides.module.js';
import { RidesResolver } from './rides.resolver.js';

/** `POST /graphql`: another way in, to the same rides. */
@Module({
  imports: [
    GraphQLModule.forRoot<ApolloDriverConfig>({ driver: ApolloDriver, autoSchemaFile: true }),
    RidesModule,
  ],
  providers: [RidesResolver],
})
export class RidesGraphqlModule {}
