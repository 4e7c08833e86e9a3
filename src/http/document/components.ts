/** Parts of the document that operations share, by name. */

export type Json = Record<string, unknown>;

export interface Components {
  /** The schema as the document has it: each part with a `title` is a reference to the component of that name. */
  schema(schema: object): Json;
  /** A reference to the response of this name, which `describe` makes the first time. */
  response(name: string, describe: () => Json): Json;
  /** all of them, by kind and name */
  all(): Json;
}

/** Collects components. @throws Error when a name is given to two different schemas */
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
    // What TypeBox adds for itself is no JSON.
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
