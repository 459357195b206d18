import { Column, getMetadataArgsStorage } from 'typeorm';

/**
 * A bigint that the database numbers itself. TypeORM has a decorator for it only
 * where it is the primary key. Not a serial: its sequence would need a right of
 * its own.
 */
export function IdentityColumn(name: string): PropertyDecorator {
  return (target, property) => {
    const propertyName = property as string;
    Column({ name, type: 'bigint', generatedIdentity: 'ALWAYS' })(target, propertyName);
    getMetadataArgsStorage().generations.push({
      target: target.constructor,
      propertyName,
      // Known to TypeORM everywhere but in this type.
      strategy: 'identity' as 'increment',
    });
  };
}
