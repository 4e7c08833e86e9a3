import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startManaged, type Managed } from '../support/manage';
import { ONE_BACKEND } from '../support/service';

/** Tests that no shop accepts a secret that was copied only in part, or twice. */

const WHOLE: Record<string, string> = {
  stripe: 'whsec_51a963295692389b51a963295692389b',
  paddle: 'pdl_ntfset_01j4_abcdefghijklmnop',
  standard: `whsec_${Buffer.alloc(24, 7).toString('base64')}`,
  lemonsqueezy: 'made up. by the seller..',
  fastspring: 'made*up**by-the-seller',
  woocommerce: '>G9 [~*d. made up',
  digistore24: '"made up" by the seller',
};
const KINDS = Object.keys(WHOLE);
const BEGINNINGS: Record<string, string> = { stripe: 'whsec_', paddle: 'pdl_ntfset_', standard: 'whsec_' };

describe.each(ONE_BACKEND)('secrets of shops, on %s', (_, settings) => {
  let service: Managed;
  beforeAll(async () => {
    service = await startManaged(await settings(), new Date('2026-11-24T12:00:00Z'));
    for (const kind of KINDS) await service.write.ok('POST /shops', { name: kind, kind }, 201);
  });
  afterAll(() => service.stop());

  it.each(KINDS)(
    'a secret of %s that was copied in part is refused, and a whole one is accepted',
    async (kind) => {
      const part = (WHOLE[kind] as string).slice(0, 18);
      for (const end of ['…', '...', '....', '•••', '••••••••', '***'])
        for (const secret of [part + end, (BEGINNINGS[kind] ?? '') + end])
          expect(
            await service.write.refused(`PATCH /shops/${kind}`, { secret }, 'INVALID_REQUEST', 'secret'),
          ).toMatch(/incomplete: .*hide a part of it\. \S+/);
      await service.write.ok(`PATCH /shops/${kind}`, { secret: WHOLE[kind] });
    },
  );

  it.each(Object.keys(BEGINNINGS))('a secret of %s that begins twice is refused', async (kind) => {
    const secret = `${BEGINNINGS[kind] as string}${WHOLE[kind] as string}`;
    expect(
      await service.write.refused(`PATCH /shops/${kind}`, { secret }, 'INVALID_REQUEST', 'secret'),
    ).toMatch(/beginning appears twice\. /);
  });

  it.each([
    ['stripe', 'rk_live_51Habcdefgh…', /incomplete/],
    ['stripe', 'rk_live_rk_live_51Habcdefghijkl', /twice/],
    ['paddle', 'pdl_live_apikey_01abcdefgh****', /incomplete/],
    ['paddle', 'pdl_sdbx_apikey_pdl_sdbx_apikey_01abcdefghijkl', /twice/],
    ['woocommerce', `ck_${'a'.repeat(40)}:cs_...`, /incomplete/],
  ])('an API key of %s that was copied like this is refused: %s', async (kind, key, why) => {
    expect(
      await service.write.refused(`PATCH /shops/${kind}`, { api_key: key }, 'INVALID_REQUEST', 'api_key'),
    ).toMatch(why);
  });
});
