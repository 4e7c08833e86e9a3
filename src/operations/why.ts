import { Type } from '@sinclair/typebox';
import { ACTION_TYPES } from '../support/findings';
import { UNTRACED_CODES } from '../support/sentences';
import { explain } from '../support/why';
import { post } from './kit/operation';
import { strictObject, Id, nullable, Text, TextOrNull, TimeOrNull, textEnum } from './kit/schemas';

const Judged = strictObject(
  {
    allowed: Type.Boolean(),
    code: nullable(Type.String({ description: 'The code of the refusal that customers get.' })),
    sentence: Text,
  },
  { title: 'Judged' },
);

const Finding = strictObject({
  code: Text,
  facts: Type.Object({}, { additionalProperties: true }),
  sentence: Text,
  since: TimeOrNull,
  count: nullable(Type.Integer({ minimum: 1 })),
  action: nullable(
    Type.Object(
      { type: textEnum(ACTION_TYPES) },
      { additionalProperties: true, description: 'The call of this API that fixes it.' },
    ),
  ),
  advice: TextOrNull,
});

const Explained = strictObject(
  {
    license_id: nullable(Id),
    licenses: Type.Array(strictObject({ license_id: Id, matched: Text }), {
      description: 'The licences to choose from, if several match.',
    }),
    now: Type.Unsafe<{ updates: typeof Judged.static; new_site: typeof Judged.static } | null>({
      anyOf: [strictObject({ updates: Judged, new_site: Judged }), { type: 'null' }],
      description: 'The answer that a request would get now; null: no single licence is known.',
    }),
    findings: Type.Array(Finding),
    nearby: Type.Array(Finding, {
      description:
        "Requests without the licence's key from networks where it is used, perhaps of another person. They are not counted.",
    }),
    untraced: Type.Array(strictObject({ code: textEnum(UNTRACED_CODES), sentence: Text }), {
      description: 'Failures that leave no record here.',
    }),
  },
  { title: 'Explained' },
);

/** The number of latest requests that are examined. */
const LATEST = 20;

export const whyOperations = {
  explain: post(
    '/why',
    {
      summary: 'Explain why a customer is refused',
      description:
        'You can ask about a key, the end of a key, an id, an order, an e-mail address, a site, or an IP address. The sentences are in English, or in German if `Accept-Language` prefers it.',
      scope: 'read',
      body: strictObject({ about: Text }),
      data: Explained,
    },
    async ({ db, body, settings, now, language }) => {
      const { packagesDir, logDays, spreadFactor } = settings;
      const options = { language, packagesDir, logDays, spreadFactor, now, limit: LATEST };
      return { data: await explain(db, body.about, options) };
    },
  ),
};
