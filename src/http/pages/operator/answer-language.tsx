import { CUSTOMER_LANGUAGES, CUSTOMERS, type CustomerLanguage } from '../../../texts/customers/languages';
import { useView } from '../view';

/** Links to the same suggested reply in each of the other languages. */
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
