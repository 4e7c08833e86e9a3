import type { TSchema } from '@sinclair/typebox';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020';
import { redactKeys } from '../../licensing/core/keys';
import { FIELD_JUDGES } from '../../licensing/fields';
import { kindOf } from '../../licensing/schemas/catalogue';
import { OperationError } from './failures';

/** Validates queries and bodies by the JSON schemas of their operation. A refusal names the first wrong field. */

/** The settings of Ajv. The schemas' formats are for the document's readers, because the domain checks the values. */
const SETTINGS = { strict: false, validateFormats: false };
/** The settings for queries and forms, in which all values are texts. */
const TEXTS = { ...SETTINGS, coerceTypes: true, useDefaults: true };

/** The validators, created at the first use, because commands without input need none of them. */
const made: { bodies?: Ajv2020; texts?: Ajv2020 } = {};
const ofBodies = () => (made.bodies ??= new Ajv2020(SETTINGS));
const ofTexts = () => (made.texts ??= new Ajv2020(TEXTS));

export type Reader = (given: unknown) => object;

export function bodyReader(schema: TSchema | undefined): Reader {
  return reader(ofBodies, schema);
}

export function queryReader(schema: TSchema | undefined): (query: URLSearchParams) => object {
  const read = textsReader(schema);
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, TSchema> };
  return (query) => {
    const fields: Record<string, string | string[]> = Object.create(null) as Record<string, string>;
    for (const [name, value] of query) {
      if (Object.hasOwn(properties, name) && properties[name]?.type === 'array') {
        fields[name] = [fields[name] ?? [], value].flat();
        continue;
      }
      if (name in fields) throw refused(`"${printable(name)}" is given twice.`, name);
      fields[name] = value;
    }
    return read({ ...fields });
  };
}

export function formReader(schema: TSchema | undefined): Reader {
  return textsReader(schema);
}

/** Returns a reader of texts. Integers must be decimal digits: Ajv would also accept `1e2` and ` 5`. */
function textsReader(schema: TSchema | undefined): Reader {
  const read = reader(ofTexts, schema);
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, TSchema> };
  const integers = Object.keys(properties).filter((name) => isInteger(properties[name]));
  return (given) => {
    const fields = given as Record<string, unknown>;
    for (const name of integers) {
      const text = fields[name];
      if (typeof text === 'string' && !/^-?\d{1,16}$/.test(text))
        throw refused(`"${name}" must be of type integer.`, name);
    }
    return read(given);
  };
}

function isInteger(schema: TSchema | undefined): boolean {
  const { anyOf, type } = (schema ?? {}) as { type?: string; anyOf?: { type?: string }[] };
  const types = anyOf === undefined ? [type] : anyOf.map((one) => one.type);
  return types.includes('integer') && !types.includes('string');
}

const NOTHING = { type: 'object', additionalProperties: false };

function reader(ajv: () => Ajv2020, schema: object = NOTHING): Reader {
  let validate: ValidateFunction | undefined;
  return (given) => {
    // Compile at the first call, because compiling all schemas at the start would take a tenth of a second.
    validate ??= ajv().compile(schema);
    if (validate(given)) return judged(schema, given as Record<string, unknown>);
    throw explain((validate.errors as ErrorObject[])[0] as ErrorObject);
  };
}

/** Returns the fields with their texts as the rules write them. @throws OperatorError that names the wrong field */
function judged(
  { properties = {} }: { properties?: Record<string, TSchema> },
  given: Record<string, unknown>,
): object {
  for (const [name, value] of Object.entries(given)) {
    const kind = kindOf(properties[name]);
    if (kind !== undefined && typeof value === 'string')
      given[name] = FIELD_JUDGES[kind]?.(value, name) ?? value;
  }
  return given;
}

function explain({ keyword, instancePath, params, message = 'is not valid' }: ErrorObject): OperationError {
  const { additionalProperty, missingProperty, allowedValues, type } = params as {
    additionalProperty?: string;
    missingProperty?: string;
    allowedValues?: unknown[];
    type?: string | string[];
  };
  const path = instancePath.slice(1).split('/').map(unescape);
  const inner = additionalProperty ?? missingProperty;
  const name = [...path, ...(inner === undefined ? [] : [inner])].filter((part) => part !== '').join('.');
  if (keyword === 'type' && name === '') return refused('The body must be a JSON object.');
  const says = {
    additionalProperties: 'is not a known field.',
    required: 'is required.',
    enum: `must be one of ${(allowedValues ?? []).map(String).join(', ')}.`,
    type: `must be of type ${[type ?? []].flat().join(' or ')}.`,
  }[keyword];
  return refused(`"${printable(name)}" ${says ?? `${message}.`}`, name);
}

/** Unescapes a part of a JSON pointer (RFC 6901). */
function unescape(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Returns a field's name for a message. It may be anything, even a key that was pasted into the wrong place. */
function printable(name: string): string {
  return redactKeys(name.slice(0, 100).replace(/[^\x20-\x7e]/g, '?'));
}

function refused(message: string, field?: string): OperationError {
  return new OperationError('INVALID_REQUEST', message, { field });
}
