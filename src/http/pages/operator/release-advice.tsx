import { listFixLinks, readCveList, type Release } from '../../../packages/releases';
import { Select, TextArea, TextField } from '../kit/fields';
import type { OperatorCall } from '../page';
import { useView } from '../view';

/** The fields of a release that say which holes it closes, and what its users should do. */

type Links = Awaited<ReturnType<typeof listFixLinks>>;

/** Lists the product's other versions, of which one may have the same fix. */
export async function otherVersions(
  { db }: OperatorCall,
  { productId, id }: { productId: number; id?: number },
): Promise<Links> {
  return (await listFixLinks(db, productId)).filter((one) => one.id !== id);
}

/** @param release undefined for a new one */
export function AdviceFields({ release, others }: { release?: Release; others: Links }) {
  const { advice: texts } = useView().t.releases;
  return (
    <>
      <TextArea
        name="advisory"
        label={texts.advisory}
        hint={texts.advisoryHint}
        value={release?.advisory ?? ''}
      />
      <TextField name="cve" label={texts.cve} hint={texts.cveHint} value={release?.cve.join(', ') ?? ''} />
      {others.length === 0 ? null : (
        <Select
          name="same_fix_as"
          label={texts.sameFixAs}
          hint={texts.sameFixAsHint}
          value={release?.sameFixAs ?? ''}
          options={[
            { value: '', label: texts.noOther },
            ...others.map(({ id, version }) => ({ value: id, label: version })),
          ]}
        />
      )}
    </>
  );
}

/** Returns the fields of the form as an operation's body. A field that was not sent stays as it is. */
export function readAdvice(sent: URLSearchParams) {
  const cve = sent.get('cve');
  const sameFixAs = sent.get('same_fix_as');
  return {
    advisory: sent.get('advisory') ?? undefined,
    cve: cve === null ? undefined : readCveList(cve),
    same_fix_as: sameFixAs === null ? undefined : sameFixAs || null,
  };
}
