import { DAY_MS } from '../../../base/days';
import { listOperators } from '../../../access/operators';
import { listTokens } from '../../../access/tokens';
import { makeSecurityTxt, SECURITY_TXT_PATH, securityTxtEnd } from '../../../doctor/security-txt';
import { listKeysInUse } from '../../../licensing/signing-keys';
import { CopyText } from '../kit/copy';
import { TitledPage } from '../kit/operator-page';
import { PanelBody, Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';
import { Findings, Summary, findingsToAct } from './doctor';
import { TaskLine } from './overview-needs';

/** Links to the pages about the installation, with their action items. */

const SOON_MS = 30 * DAY_MS;

export const systemRoutes: Route<OperatorCall>[] = [{ path: '/system', get: showSystem }];

async function showSystem(call: OperatorCall): Promise<PageResponse> {
  const { settings, view } = call;
  const { t, to } = view;
  const { system: texts } = t;
  // Undefined if the doctor did not finish within the timeout.
  const findings = await loadOptional(call, () => settings.examine());
  const access = call.caller.scope === 'write' ? await readAccess(call) : undefined;
  return {
    page: (
      <TitledPage title={texts.title} nav="system" sub={texts.version(settings.version)}>
        <Panel
          id="doctor"
          title={texts.doctor.title}
          footer={<a href={to('/doctor')}>{findings ? texts.doctor.go : texts.doctor.first}</a>}
        >
          {findings === undefined ? null : (
            <>
              <PanelBody>
                <Summary findings={findings} />
              </PanelBody>
              <Findings findings={findingsToAct(findings).slice(0, 1)} />
            </>
          )}
        </Panel>
        {access === undefined ? null : (
          <Panel id="parts">
            <ul class="todo">
              {partsOf(call, access).map(([path, title, about]) => (
                <TaskLine href={to(path)} by={about}>
                  {title}
                </TaskLine>
              ))}
            </ul>
          </Panel>
        )}
        <DoorPanel />
        <SecurityTxtPanel call={call} />
      </TitledPage>
    ),
  };
}

/** Lists the pages about the installation, each with its state or its purpose. */
function partsOf(
  { view: { t, format } }: OperatorCall,
  { tokens, ending, operators, signing }: Access,
): [path: string, title: string, about: string][] {
  const { system: texts } = t;
  const ended = ending.length === 0 ? '' : texts.tokensEnding(ending.map(({ name }) => name).join(', '));
  return [
    ['/tokens', texts.tokens.title, `${texts.tokenCount(tokens, format.number(tokens))} ${ended}`],
    ['/operators', texts.operators.title, texts.operatorCount(operators, format.number(operators))],
    [
      '/signing-keys',
      texts.signingKeys.title,
      signing === undefined ? texts.signingKeys.none : texts.signingKeys.signs(signing),
    ],
    ['/webhooks', t.webhooks.title, t.webhooks.about],
    ['/start', t.start.steps, t.start.about],
    ['/move-in', t.moveIn.title, t.moveIn.about],
  ];
}

/** The sign-in component for the site's own Joomla: its download, and the steps. */
function DoorPanel() {
  const { t, to } = useView();
  const { door } = t.system;
  return (
    <Panel id="joomla-door" title={door.title} inside>
      <p>{door.about}</p>
      <ol>
        <li>
          <a href={to('/joomla-door.zip')}>{door.download}</a>
        </li>
        <li>{door.install}</li>
        <li>{door.open}</li>
      </ol>
    </Panel>
  );
}

/** The file with the contact for reports of security holes, to copy. */
function SecurityTxtPanel({ call: { settings, at } }: { call: OperatorCall }) {
  const { securityTxt: texts } = useView().t.system;
  const { mail, publicUrl } = settings.config;
  const host = publicUrl === undefined ? 'shop.example' : new URL(publicUrl).hostname;
  const contact = `mailto:${mail?.from.address ?? `security@${host}`}`;
  return (
    <Panel id="security-txt" title={texts.title} inside>
      <p>{texts.about(SECURITY_TXT_PATH)}</p>
      <CopyText
        id="security-txt-text"
        label={texts.title}
        text={makeSecurityTxt({ contact }, securityTxtEnd(at))}
        rows={3}
        isCode
      />
    </Panel>
  );
}
type Access = Awaited<ReturnType<typeof readAccess>>;

async function readAccess({ db, at }: OperatorCall) {
  const live = (await listTokens(db)).filter(({ expiresAt }) => expiresAt === null || expiresAt > at);
  const ending = live.filter(
    ({ expiresAt }) => expiresAt !== null && expiresAt.getTime() < at.getTime() + SOON_MS,
  );
  const operators = (await listOperators(db)).length;
  const signing = (await listKeysInUse(db)).find(({ state }) => state === 'current')?.kid;
  return { tokens: live.length, ending, operators, signing };
}
