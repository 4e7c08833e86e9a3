import type { HttpMethodEnum, KoaBodyMiddlewareOptions } from 'koa-body';

/** How bodies are read. The benchmark's bare server loads this file, and must load nothing else of the service. */
export const BODY_OPTIONS: Partial<KoaBodyMiddlewareOptions> = {
  json: true,
  urlencoded: true,
  text: false,
  multipart: false,
  jsonLimit: '64kb',
  formLimit: '64kb',
  // A form field is just a name and a value; 1,000 fields is PHP's limit too.
  queryString: {
    duplicates: 'last',
    allowDots: false,
    depth: 0,
    parseArrays: false,
    parameterLimit: 1_000,
    throwOnLimitExceeded: true,
  },
  // The enum's value as text: loading koa-body takes 40 ms, which is left for the first body.
  parsedMethods: ['POST'] as unknown as HttpMethodEnum[],
};
