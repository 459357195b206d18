import { Column, getMetadataArgsStorage } from 'typeorm';

/**
 * A bigint identity column. TypeORM has a decorator for it only for primary keys.
 * It is not a serial, because a serial's sequence needs a separate right.
 */
export function IdentityColumn(name: string): PropertyDecorator {
  return (target, property) => {
    const propertyName = property as string;
    Column({ name, type: 'bigint', generatedIdentity: 'ALWAYS' })(target, propertyName);
    getMetadataArgsStorage().generations.push({
      target: target.constructor,
      propertyName,
      // TypeORM supports it, but this type lacks it.
      strategy: 'identity' as 'increment',
    });
  };
}
