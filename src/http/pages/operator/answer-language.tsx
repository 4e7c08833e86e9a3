import { CUSTOMER_LANGUAGES, CUSTOMERS, type CustomerLanguage } from '../../../texts/customers/languages';
import { useView } from '../view';

/** The languages of a ready answer: links to the same answer in each of the others. */
export function AnswerLanguage({
  chosen,
  hrefOf,
}: {
  chosen: CustomerLanguage;
  hrefOf: (language: CustomerLanguage) => string;
}) {
  const { t } = useView();
  return (
    <span class="seg" role="group" aria-label={t.license.why.answerLanguage}>
      {CUSTOMER_LANGUAGES.map((code) =>
        code === chosen ? (
          <span aria-current="true">{CUSTOMERS[code].language.name}</span>
        ) : (
          <a href={hrefOf(code)} lang={code} hreflang={code}>
            {CUSTOMERS[code].language.name}
          </a>
        ),
      )}
    </span>
  );
}
