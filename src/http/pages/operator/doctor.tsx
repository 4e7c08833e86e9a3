import type { Examined } from '../../../doctor/finding';
import { ButtonLink } from '../kit/fields';
import { Icon } from '../kit/icons';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';

/** The findings of the doctor, worst first. The running service cannot perform all checks. */

export const doctorRoutes: Route<OperatorCall>[] = [{ path: '/doctor', hasDeadline: false, get: showDoctor }];

const WORST_FIRST = ['problem', 'warning'] as const;
const LOOKS = {
  problem: { kind: 'no', icon: 'no' },
  warning: { kind: 'soon', icon: 'warning' },
  ok: { kind: 'yes', icon: 'yes' },
} as const;

/** Returns the findings that need action, worst first. */
export function findingsToAct(findings: Examined[]): Examined[] {
  return WORST_FIRST.flatMap((state) => findings.filter((one) => one.state === state));
}

/** A sentence with the number of findings that need action. */
export function Summary({ findings }: { findings: Examined[] }) {
  const { doctor } = useView().t.system;
  const [problems = 0, warnings = 0] = WORST_FIRST.map(
    (state) => findings.filter((one) => one.state === state).length,
  );
  return <>{problems + warnings === 0 ? doctor.good : doctor.bad(problems, warnings)}</>;
}

async function showDoctor({ settings, view: { t, format, now } }: OperatorCall): Promise<PageResponse> {
  const findings = await settings.examine();
  const texts = t.system.doctor;
  const worst = findingsToAct(findings);
  const fine = findings.filter(({ state }) => state === 'ok');
  return {
    page: (
      <TitledPage
        title={texts.title}
        nav="system"
        crumbs={[[t.system.title, '/system']]}
        sub={<Summary findings={findings} />}
        actions={<ButtonLink path="/doctor" label={texts.again} />}
      >
        <Panel
          id="findings"
          title={worst.length === 0 ? texts.good : texts.worst}
          aside={texts.at(format.exact(now))}
        >
          {worst.length === 0 ? null : <Findings findings={worst} />}
          <details class="fold" open={worst.length === 0}>
            <summary>{texts.fine(format.number(fine.length))}</summary>
            <Findings findings={fine} />
          </details>
        </Panel>
        <p class="small muted">
          {texts.reach} <code>licensing doctor --url https://...</code>
        </p>
      </TitledPage>
    ),
  };
}

/** The findings in the operator's language. Messages of servers and libraries are not translated. */
export function Findings({ findings }: { findings: Examined[] }) {
  const { t } = useView();
  const { doctor } = t.system;
  return (
    <ul class="verdicts">
      {findings.map(({ state, say }) => {
        const { what, why, remedy, said } = say(t.doctor);
        return (
          <li class={LOOKS[state].kind}>
            <Icon name={LOOKS[state].icon} />
            <div>
              <span class="visually-hidden">{doctor.states[state]}: </span>
              {state === 'ok' ? what : <strong>{what}</strong>}{' '}
              {said === null ? null : (
                <>
                  (<span lang="en">{said}</span>){' '}
                </>
              )}
              {why}
              {remedy === null ? null : (
                <p>
                  {doctor.remedy} <WithGuides text={remedy} />
                </p>
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** A text in which each `docs/NAME.md` is a link to the documentation, if that was built. */
function WithGuides({ text }: { text: string }) {
  const { guide } = useView();
  return (
    <>
      {text.split(/(docs\/[\w-]+\.md)/).map((part) => {
        const name = /^docs\/([\w-]+)\.md$/.exec(part)?.[1];
        const address = name === undefined ? undefined : guide(name);
        return address === undefined ? part : <a href={address}>{part}</a>;
      })}
    </>
  );
}
