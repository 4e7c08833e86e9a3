/** Components of the OpenAPI document: named parts that operations share. */

export type Json = Record<string, unknown>;

export interface Components {
  /** Returns a schema for the document. Each part with a `title` becomes a reference to the component of that name. */
  schema(schema: object): Json;
  /** Returns a reference to the response of this name, which `describe` creates the first time. */
  response(name: string, describe: () => Json): Json;
  /** Returns all components by kind and name. */
  all(): Json;
}

/** Creates a collection of components. @throws Error if two different schemas have the same name */
export function createComponents(): Components {
  const schemas = new Map<string, { json: Json; text: string }>();
  const responses = new Map<string, Json>();
  const lift = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(lift);
    if (typeof value !== 'object' || value === null) return value;
    const { title, ...others } = Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, lift(part)]),
    );
    if (typeof title !== 'string') return title === undefined ? others : { title, ...others };
    const text = JSON.stringify(others);
    const earlier = schemas.get(title);
    if (earlier !== undefined && earlier.text !== text)
      throw new Error(`Two different schemas have the title ${title}.`);
    schemas.set(title, { json: others, text });
    return { $ref: `#/components/schemas/${title}` };
  };
  return {
    // Remove TypeBox's own additions, which are not JSON.
    schema: (schema) => lift(JSON.parse(JSON.stringify(schema))) as Json,
    response(name, describe) {
      if (!responses.has(name)) responses.set(name, describe());
      return { $ref: `#/components/responses/${name}` };
    },
    all: () => ({
      schemas: byName(new Map([...schemas].map(([name, { json }]) => [name, json]))),
      responses: byName(responses),
    }),
  };
}

function byName(map: Map<string, Json>): Json {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}
