import { HttpMethodEnum, type KoaBodyMiddlewareOptions } from 'koa-body';

/** How bodies are read. The benchmark's bare server reads them alike, and must load nothing else of the service. */
export const BODY_OPTIONS: Partial<KoaBodyMiddlewareOptions> = {
  json: true,
  urlencoded: true,
  text: false,
  multipart: false,
  jsonLimit: '64kb',
  formLimit: '64kb',
  // Of a form each field is a name and a value, and no more; as many as PHP takes.
  queryString: {
    duplicates: 'last',
    allowDots: false,
    depth: 0,
    parseArrays: false,
    parameterLimit: 1_000,
    throwOnLimitExceeded: true,
  },
  parsedMethods: [HttpMethodEnum.POST],
};
