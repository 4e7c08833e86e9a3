import { HttpMethodEnum, type KoaBodyMiddlewareOptions } from 'koa-body';

/** How bodies are read. The benchmark's bare server reads them alike, and must load nothing else of the service. */
export const BODY_OPTIONS: Partial<KoaBodyMiddlewareOptions> = {
  json: true,
  urlencoded: true,
  text: false,
  multipart: false,
  jsonLimit: '64kb',
  formLimit: '64kb',
  queryString: { duplicates: 'last' },
  parsedMethods: [HttpMethodEnum.POST],
};
