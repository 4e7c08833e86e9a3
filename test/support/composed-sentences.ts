import { join } from 'node:path';
import ts from 'typescript';
import { CUSTOMERS } from '../../src/texts/customers/languages';
import { OPERATORS, type OperatorLanguage } from '../../src/texts/operators/languages';

/** Every sentence that is composed of values, in each language: their types say which values there may be. */

export interface Composed {
  /** the name of the text, such as `needsYou.mails` */
  path: string;
  text: string;
}

/** The values of a sentence. */
interface Scenario {
  count: number;
  /** the whole that the count is a part of; 0: unlimited */
  limit: number;
  /** the day of its moments */
  on: Date;
  /** false: what may be missing is missing */
  isNamed: boolean;
  /** true: its moments are written in ISO 8601 */
  isUtc?: boolean;
}

/** A Thursday, so that the week has an earlier day than yesterday. */
const TODAY = new Date('2026-11-26T21:54:00Z');
const YESTERDAY = new Date('2026-11-25T16:43:00Z');
const THIS_WEEK = new Date('2026-11-24T08:31:00Z');
const EARLIER = new Date('2026-11-12T18:03:00Z');
const ZONE = 'Europe/Berlin';

const SCENARIOS: Scenario[] = [
  { count: 0, limit: 5, on: EARLIER, isNamed: true },
  { count: 1, limit: 1, on: TODAY, isNamed: true },
  { count: 3, limit: 1, on: YESTERDAY, isNamed: true },
  { count: 3, limit: 0, on: THIS_WEEK, isNamed: true },
  { count: 1, limit: 5, on: TODAY, isNamed: false },
  { count: 3, limit: 5, on: EARLIER, isNamed: false },
];

/** Names of values that are a whole, and another value is its part. */
const LIMITS = /^(limit|activation_limit|total|all|ended|most|allowed)$/;
/** Names of texts that may be `unlimited`. */
const UNLIMITED = /^limit$/;
/** Names of texts that are numbers. */
const NUMBERS =
  /^(count|written\w*|shown|number|used|limit|total|times|days|all|more|rows|most|least|downloads|refused|slots|sold|renewed|ended|current|active|free|licenses|sites|messages|mails|waiting|behind|counted|done|percent|share|current|said|problems|factor|plans|first|changes)$/;
/** Names of texts that are days. */
const DAYS = /^(day|on|end|until|ends|nextAt|lastDay|asDay|asMonth|today)$/;
/** Names of texts that are moments, which are `today, 08:12` or `Wed 09:31`. */
const MOMENTS = /^(at|when|since|moment|time|last|seen|lookedAt|retry)$/;
/** Names of facts that are times in ISO 8601. */
const TIMES = '_at';
/** Texts of the service that know no `today`, as the command and the API show them. */
const WITHOUT_TODAY = /^(doctor|support)$/;
const SAMPLES: Record<string, string> = {
  id: '12',
  activationType: 'domain',
  activation_type: 'domain',
  type: 'domain',
  version: '1.8.0',
  latest: '1.9.0',
  product: 'Gallery Pro',
  plan: 'Agency',
  customer: 'ann@example.com',
  email: 'ann@example.com',
  to: 'ann@example.com',
  shop: 'stripe',
  site: 'example.com',
  hint: 'A1B2C3D4',
  key_hint: 'A1B2C3D4',
  reason: 'invoice 77 open',
  ip: '198.51.100.7',
  joomla_version: '5.3.0',
  user_agent: 'curl/8.5',
  described: 'smtp://jo:***@mail.example:587?from=shop%40shop.example',
  state: 'sent',
  duration: '1y',
  currency: 'EUR',
};
/** The most sentences of a text for one scenario. */
const MAX_CHOICES = 40;

/** Composes all sentences of a language. */
export function composeAll(language: OperatorLanguage): Composed[] {
  const found: Composed[] = [];
  const { program, roots } = readTexts();
  const checker = program.getTypeChecker();
  const texts = [OPERATORS[language], CUSTOMERS[language]];
  for (const [i, { type, at }] of roots.entries()) walk(type, texts[i], [], at);
  return [...new Map(found.map((one) => [`${one.path} ${one.text}`, one])).values()];

  function walk(type: ts.Type, text: unknown, path: string[], at: ts.Node): void {
    const [signature] = type.getCallSignatures();
    if (signature !== undefined)
      return compose(signature, text as (...values: unknown[]) => unknown, path, at);
    if (typeof text !== 'object' || text === null || path[0] === 'language') return;
    if (Array.isArray(text)) return;
    for (const property of type.getProperties())
      walk(
        checker.getTypeOfSymbolAtLocation(property, at),
        (text as Record<string, unknown>)[property.name],
        [...path, property.name],
        at,
      );
  }

  function compose(
    signature: ts.Signature,
    text: (...values: unknown[]) => unknown,
    path: string[],
    at: ts.Node,
  ): void {
    const parameters = signature.getParameters().flatMap((one) => {
      const type = checker.getTypeOfSymbolAtLocation(one, at);
      if (!checker.isTupleType(type)) return [{ name: one.name, type }];
      // The values of a translated text are a list with names.
      const { labeledElementDeclarations: labels = [] } = (type as ts.TupleTypeReference).target;
      return checker
        .getTypeArguments(type as ts.TypeReference)
        .map((item, i) => ({ name: labels[i]?.name.getText() ?? one.name, type: item }));
    });
    for (const one of SCENARIOS) {
      const scenario = { ...one, isUtc: WITHOUT_TODAY.test(path[0] ?? '') };
      const isPart = parameters.length > 1;
      const choices = parameters.map(({ name, type }) => valuesOf(type, name, scenario, isPart, at));
      const last = signature.getParameters().at(-1)?.valueDeclaration;
      const isRest = last !== undefined && ts.isParameter(last) && last.dotDotDotToken !== undefined;
      for (const values of combined(choices)) keep(text(...(isRest ? values.flat() : values)), path);
    }
  }

  function keep(composed: unknown, path: string[]): void {
    if (typeof composed === 'string') found.push({ path: path.join('.'), text: composed });
    else if (Array.isArray(composed)) for (const one of composed) keep(one, path);
    else if (typeof composed === 'object' && composed !== null)
      for (const [name, one] of Object.entries(composed)) keep(one, [...path, name]);
  }

  /** The values of a type, all but a few of which are one. */
  function valuesOf(
    type: ts.Type,
    name: string,
    scenario: Scenario,
    isPart: boolean,
    at: ts.Node,
  ): unknown[] {
    const { count, limit, isNamed, on } = scenario;
    if (type.isUnion()) {
      const isMissing = (one: ts.Type) => (one.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) !== 0;
      const missing = type.types.find(isMissing);
      if (missing !== undefined && !isNamed) return [missing.flags & ts.TypeFlags.Null ? null : undefined];
      const others = type.types.filter((one) => !isMissing(one));
      return others.flatMap((one) => valuesOf(one, name, scenario, isPart, at));
    }
    if (type.isStringLiteral() || type.isNumberLiteral()) return [type.value];
    if (type.flags & ts.TypeFlags.BooleanLiteral) return [checker.typeToString(type) === 'true'];
    if (type.flags & ts.TypeFlags.Number) return [isPart && LIMITS.test(name) ? limit : count];
    if (type.flags & ts.TypeFlags.String) return [textOf(name, scenario, isPart)];
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never)) return ['?'];
    if (checker.typeToString(type) === 'Date') return [on];
    if (type.getCallSignatures().length > 0) return [() => '…'];
    if (checker.isArrayType(type)) {
      const [item] = checker.getTypeArguments(type as ts.TypeReference);
      const values = valuesOf(item as ts.Type, name.replace(/s$/, ''), scenario, isPart, at);
      return [Array.from({ length: Math.max(1, count) }, (_, i) => values[i % values.length])];
    }
    const properties = type.getProperties();
    const choices = properties.map((one) =>
      valuesOf(checker.getTypeOfSymbolAtLocation(one, at), one.name, scenario, properties.length > 1, at),
    );
    return combined(choices).map((values) =>
      Object.fromEntries(properties.map((one, i) => [one.name, values[i]])),
    );
  }

  function textOf(name: string, { count, limit, on, isUtc }: Scenario, isPart: boolean): string {
    const { language: written, common } = OPERATORS[language];
    if (NUMBERS.test(name)) {
      if (!isPart || !LIMITS.test(name)) return written.number(count);
      return limit === 0 && UNLIMITED.test(name) ? common.unlimited : written.number(limit);
    }
    if (DAYS.test(name)) return written.day(on, ZONE);
    if (name.endsWith(TIMES) || (isUtc && MOMENTS.test(name))) return on.toISOString();
    if (MOMENTS.test(name)) return written.moment(on, ZONE, TODAY);
    return SAMPLES[name] ?? name.toUpperCase();
  }
}

/** Each value once at least, and as many combinations as are worth reading. */
function combined(choices: unknown[][]): unknown[][] {
  let all: unknown[][] = [[]];
  for (const values of choices)
    all = all.flatMap((before) => values.map((one) => [...before, one])).slice(0, MAX_CHOICES);
  return all;
}

let read: { program: ts.Program; roots: { type: ts.Type; at: ts.SourceFile }[] } | undefined;

/** Reads the types of the English texts. The other languages have the same types. */
function readTexts() {
  if (read !== undefined) return read;
  const root = join(__dirname, '..', '..');
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), { noEmit: true }, host);
  const files = ['operators', 'customers'].map((of) => join(root, 'src/texts', of, 'en/texts.ts'));
  const program = ts.createProgram(files, config!.options);
  const checker = program.getTypeChecker();
  const roots = files.map((file) => {
    const at = program.getSourceFile(file) as ts.SourceFile;
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(at) as ts.Symbol);
    const symbol = exported.find(({ name }) => name === 'english') as ts.Symbol;
    return { type: checker.getTypeOfSymbol(symbol), at };
  });
  return (read = { program, roots });
}
