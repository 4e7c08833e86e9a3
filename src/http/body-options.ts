import type { HttpMethodEnum, KoaBodyMiddlewareOptions } from 'koa-body';

/** Options for reading bodies. The benchmark's bare server loads this file, which must load nothing else. */
export const BODY_OPTIONS: Partial<KoaBodyMiddlewareOptions> = {
  json: true,
  urlencoded: true,
  text: false,
  multipart: false,
  jsonLimit: '64kb',
  formLimit: '64kb',
  // Parse a form field as a name and a value only. PHP also has a limit of 1,000 fields.
  queryString: {
    duplicates: 'last',
    allowDots: false,
    depth: 0,
    parseArrays: false,
    parameterLimit: 1_000,
    throwOnLimitExceeded: true,
  },
  // Use the enum's value as text: importing koa-body takes 40 ms, which waits until the first body.
  parsedMethods: ['POST'] as unknown as HttpMethodEnum[],
};
