type Class = { prototype: object };

interface RegisteredType {
  name: string;
  target: Class;
}

/** The part of @nestjs/graphql's storage that is used here. It keeps itself on the global object. */
interface TypeStorage {
  getObjectTypesMetadata(): RegisteredType[];
}

/** Looked up again when a class is missing: a lazy module may have brought it meanwhile. */
let prototypes = new Map<string, object>();
let names = new Map<object, string>();

/**
 * The name of the `@ObjectType()` that a value is an instance of, if it is one. A
 * class that was derived from one counts as its nearest registered parent.
 */
export function objectTypeOf(value: object): string | undefined {
  for (
    let at = Object.getPrototypeOf(value) as object | null;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const name = names.get(at) ?? (readTypes(), names.get(at));
    if (name !== undefined) return name;
  }
  return undefined;
}

/** The prototype of an `@ObjectType()`; that of any object where a deployment has removed the class. */
export function prototypeOf(name: string): object {
  return prototypes.get(name) ?? (readTypes(), prototypes.get(name)) ?? Object.prototype;
}

function readTypes(): void {
  const { GqlTypeMetadataStorage: storage } = globalThis as {
    GqlTypeMetadataStorage?: TypeStorage;
  };
  const types = storage?.getObjectTypesMetadata() ?? [];
  const known = ({ target }: RegisteredType) => names.has(target.prototype);
  if (types.length === names.size && types.every(known)) return;
  prototypes = new Map(types.map(({ name, target }) => [name, target.prototype]));
  names = new Map(types.map(({ name, target }) => [target.prototype, name]));
}
