import fc from 'fast-check';

/** Generates random requests from the schemas of the OpenAPI document (fuzzing): valid ones, and others. */

export type Json = Record<string, unknown>;

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  patternProperties?: Record<string, Schema>;
  format?: string;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

export interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export interface Generated {
  /** by name, not encoded */
  path: Record<string, string>;
  query: [string, string][];
  /** undefined without a body */
  body: { type: string; value: unknown } | undefined;
  idempotencyKey: string | undefined;
}

/** Values with a meaning for the service, by the name of their field. */
export type Pools = Record<string, fc.Arbitrary<unknown>>;

const anyText = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('', ' ', '\u0000', 'a\nb', '\ud800', '🎉', "'; --", 'x'.repeat(300), '__proto__', '%00'),
);
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(null, -1, 0, 1.5, 2 ** 31, 2 ** 53, 1e300, [], {}, true, ''),
  anyText,
);

export function requestsOf(
  { parameters = [], requestBody }: Described,
  isPost: boolean,
  resolve: (schema: Schema) => Schema,
  pools: Pools,
): fc.Arbitrary<Generated> {
  const value = (given: Schema, name: string): fc.Arbitrary<unknown> => {
    const schema = resolve(given);
    const pool = pools[name];
    const made = byType(schema, name);
    return pool === undefined ? made : fc.oneof({ weight: 4, arbitrary: pool }, made);
  };
  const byType = (schema: Schema, name: string): fc.Arbitrary<unknown> => {
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (schema.anyOf && schema.properties === undefined)
      return fc.oneof(...schema.anyOf.map((one) => value(one, name)));
    const types = [schema.type ?? 'string'].flat();
    return fc.oneof(...types.map((type) => ofType(type, schema, name)));
  };
  const ofType = (type: string, schema: Schema, name: string): fc.Arbitrary<unknown> => {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
      case 'number': {
        const { minimum = 0, maximum = 2 ** 53 - 1 } = schema;
        return fc.oneof(
          fc.integer({ min: minimum, max: Math.min(maximum, minimum + 20) }),
          // Exclude the highest id, after which other tests could not create one.
          fc.constantFrom(minimum, name === 'id' ? minimum : maximum),
        );
      }
      case 'array':
        return fc.array(value(schema.items ?? {}, name), { maxLength: 3 });
      case 'object': {
        const [further] = Object.values(schema.patternProperties ?? {});
        return schema.properties === undefined && further !== undefined
          ? fc.dictionary(anyText, value(further, name), { maxKeys: 3 })
          : record(schema);
      }
      default:
        return anyText;
    }
  };
  const record = ({ properties = {}, required = [] }: Schema): fc.Arbitrary<Json> =>
    fc.record(Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, value(one, name)])), {
      requiredKeys: required,
    });
  /** Generates an object with one mistake, or without any. */
  const mistaken = (schema: Schema): fc.Arbitrary<Json> =>
    fc
      .tuple(
        record(schema),
        fc.constantFrom('none', 'none', 'none', 'add', 'drop', 'replace'),
        fc.nat(),
        anything,
        anyText,
      )
      .map(([made, mistake, at, other, name]) => {
        const names = Object.keys(made);
        const chosen = names[at % Math.max(names.length, 1)];
        if (mistake === 'add') return { ...made, [`x${name}`]: other };
        if (chosen === undefined || mistake === 'none') return made;
        if (mistake === 'replace') return { ...made, [chosen]: other };
        return Object.fromEntries(Object.entries(made).filter(([key]) => key !== chosen));
      });
  const ofPlace = (place: string): Schema => {
    const own = parameters.filter((one) => one.in === place);
    return {
      properties: Object.fromEntries(own.map(({ name, schema }) => [name, schema])),
      required: own.filter(({ required }) => required).map(({ name }) => name),
    };
  };
  const wrongPath = fc.oneof(
    fc.constantFrom('0', '-1', 'abc', '1.5', '9'.repeat(30), '%ZZ', 'reference:', '..', ' 1', '01'),
    anyText.map((text) => text || '-'),
  );
  const path = fc.record(
    Object.fromEntries(
      parameters
        .filter((one) => one.in === 'path')
        .map(({ name, schema }) => [
          name,
          fc.oneof({ weight: 5, arbitrary: value(schema, `{${name}}`).map(asText) }, wrongPath),
        ]),
    ),
  ) as fc.Arbitrary<Record<string, string>>;
  const query = mistaken(ofPlace('query')).map((fields) =>
    Object.entries(fields).map(([name, one]): [string, string] => [name, asText(one)]),
  );
  const contents = Object.entries(requestBody?.content ?? {});
  const bodies = contents.map(([type, { schema }]) => {
    const resolved = resolve(schema);
    return (resolved.format === 'binary' ? anyText : mistaken(resolved)).map((made) => ({
      type,
      value: made,
    }));
  });
  const body =
    bodies.length === 0
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 12, arbitrary: fc.oneof(...bodies) },
          { weight: 1, arbitrary: anything.map((made) => ({ type: 'application/json', value: made })) },
          { weight: 1, arbitrary: fc.constant({ type: 'text/plain', value: 'text' }) },
          { weight: 1, arbitrary: fc.constant(undefined) },
        );
  const key = fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: fc.constantFrom('same', 'x'.repeat(256), ' ') },
  );
  return fc.record({ path, query, body, idempotencyKey: isPost ? key : fc.constant(undefined) });
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
