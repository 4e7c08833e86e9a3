import type { Child } from 'hono/jsx';
import { DAY_MS } from '../../../base/days';
import { listOperators } from '../../../access/operators';
import { listTokens } from '../../../access/tokens';
import { listKeysInUse } from '../../../licensing/signing-keys';
import { TitledPage } from '../kit/operator-page';
import { PanelBody, Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';
import { Findings, Summary, findingsToAct } from './doctor';

/** Links to the pages about the installation, with their action items. */

const SOON_MS = 30 * DAY_MS;

export const systemRoutes: Route<OperatorCall>[] = [{ path: '/system', get: showSystem }];

async function showSystem(call: OperatorCall): Promise<PageResponse> {
  const { settings, view } = call;
  const { t, format } = view;
  const { system: texts } = t;
  // Undefined if the doctor did not finish within the timeout.
  const findings = await loadOptional(call, () => settings.examine());
  const access = call.caller.scope === 'write' ? await readAccess(call) : undefined;
  return {
    page: (
      <TitledPage title={texts.title} nav="system" sub={texts.version(settings.version)}>
        <div class="cols">
          <Part
            id="doctor"
            title={texts.doctor.title}
            path="/doctor"
            go={findings ? texts.go.doctor : texts.doctor.first}
          >
            {findings === undefined ? null : (
              <>
                <PanelBody>
                  <Summary findings={findings} />
                </PanelBody>
                <Findings findings={findingsToAct(findings).slice(0, 1)} />
              </>
            )}
          </Part>
        </div>
        <DoorPanel />
        {access === undefined ? null : (
          <div class="cols cols-2">
            <Part id="settings" title={t.settings.title} path="/settings" go={t.settings.go}>
              <PanelBody>{t.settings.summary}</PanelBody>
            </Part>
            <Part id="start" title={t.start.steps} path="/start" go={t.start.go}>
              <PanelBody>{t.start.about}</PanelBody>
            </Part>
            <Part id="tokens" title={texts.tokens.title} path="/tokens" go={texts.go.tokens}>
              <PanelBody>
                {texts.tokenCount(access.tokens, format.number(access.tokens))}{' '}
                {access.ending.length === 0
                  ? null
                  : texts.tokensEnding(access.ending.map(({ name }) => name).join(', '))}
              </PanelBody>
            </Part>
            <Part
              id="signing-keys"
              title={texts.signingKeys.title}
              path="/signing-keys"
              go={texts.go.signingKeys}
            >
              <PanelBody>
                {access.signing === undefined
                  ? texts.signingKeys.none
                  : texts.signingKeys.signs(access.signing)}
              </PanelBody>
            </Part>
            <Part id="operators" title={texts.operators.title} path="/operators" go={texts.go.operators}>
              <PanelBody>
                {texts.operatorsAbout}{' '}
                {texts.operatorCount(access.operators, format.number(access.operators))}
              </PanelBody>
            </Part>
            <Part id="mails" title={texts.mails.title} path="/mails" go={texts.go.mails}>
              <PanelBody>{texts.mails.about}</PanelBody>
            </Part>
            <Part id="webhooks" title={t.webhooks.title} path="/webhooks" go={t.webhooks.go}>
              <PanelBody>{t.webhooks.about}</PanelBody>
            </Part>
            <Part id="move-in" title={t.moveIn.title} path="/move-in" go={t.moveIn.go}>
              <PanelBody>{t.moveIn.about}</PanelBody>
            </Part>
          </div>
        )}
      </TitledPage>
    ),
  };
}

/** The sign-in component for the site's own Joomla: its download, and the steps. */
function DoorPanel() {
  const { t, to } = useView();
  const { door } = t.system;
  return (
    <div class="cols">
      <Panel id="joomla-door" title={door.title}>
        <PanelBody>
          <p>{door.about}</p>
          <ol>
            <li>
              <a href={to('/joomla-door.zip')}>{door.download}</a>
            </li>
            <li>{door.install}</li>
            <li>{door.open}</li>
          </ol>
        </PanelBody>
      </Panel>
    </div>
  );
}

async function readAccess({ db, at }: OperatorCall) {
  const live = (await listTokens(db)).filter(({ expiresAt }) => expiresAt === null || expiresAt > at);
  const ending = live.filter(
    ({ expiresAt }) => expiresAt !== null && expiresAt.getTime() < at.getTime() + SOON_MS,
  );
  const operators = (await listOperators(db)).length;
  const signing = (await listKeysInUse(db)).find(({ state }) => state === 'current')?.kid;
  return { tokens: live.length, ending, operators, signing };
}

function Part({
  id,
  title,
  path,
  go,
  children,
}: {
  id: string;
  title: string;
  path: string;
  go: string;
  children: Child;
}) {
  const { to } = useView();
  return (
    <Panel id={id} title={title} footer={<a href={to(path)}>{go}</a>}>
      {children}
    </Panel>
  );
}
