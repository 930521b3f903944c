// The license: its status, a trial, and activating a license from text or a file.
import { useState } from 'preact/hooks'
import { client } from '../api/client.ts'
import { info, type License } from '../api/server.ts'
import { isActive, licenseWarning } from '../license-term.ts'
import { useAction, useLoad } from '../load.ts'
import { TextArea } from '../parts/form.tsx'
import { Icon } from '../parts/icon.tsx'
import { Badge, Facts, PageHead, Panel } from '../parts/panel.tsx'
import { Empty, Failure, Show } from '../parts/states.tsx'
import { tell } from '../parts/toast.tsx'
import { access } from '../session.ts'
import { refreshInfo } from '../watch.ts'

export function LicensePage() {
  const about = useLoad((signal) => info({ signal }), ['info'])
  const changed = (message: string) => {
    tell(message)
    void refreshInfo().then(about.again)
  }
  return (
    <>
      <PageHead title="License" />
      <Show source={about}>
        {({ license, mode }) =>
          mode === 'plain' ? (
            <Panel>
              <Empty title="This server needs no license">
                <p>
                  It runs in plain mode with one database. Set a root token to turn on databases, tokens, and licenses.
                </p>
              </Empty>
            </Panel>
          ) : (
            <div class="halves">
              <Status license={license} />
              <Activate onDone={changed} withTrial={!isActive(license)} />
            </div>
          )
        }
      </Show>
    </>
  )
}

function Status({ license }: { readonly license: License | null }) {
  if (license === null) {
    return (
      <Panel title="Status" actions={<Badge kind="bad">No active license</Badge>}>
        <p>
          Without a license the server only lists and describes databases and collections. Changes, searches, and
          backups are refused until a license is activated. No restart is needed.
        </p>
      </Panel>
    )
  }
  const warning = licenseWarning(license)
  return (
    <Panel
      title="Status"
      actions={<Badge kind={isActive(license) ? 'good' : 'bad'}>{license.status ?? 'unknown'}</Badge>}
    >
      <div class="stack tight">
        {warning && (
          <div class="notice warn">
            <Icon name="warning" /> {warning}
          </div>
        )}
        <Facts
          facts={[
            ['Plan', license.plan_type ?? '–'],
            ['License ID', <span class="mono">{license.license_id ?? '–'}</span>],
            ['From', license.start_date ?? '–'],
            ['Until', license.end_date ?? '–'],
          ]}
        />
      </div>
    </Panel>
  )
}

function Activate(props: { readonly withTrial: boolean; readonly onDone: (message: string) => void }) {
  const [text, setText] = useState('')
  const activation = useAction()
  const trial = useAction()
  return (
    <div class="stack">
      <Panel title="Activate">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void activation.run(async () => {
              const message = await client('control').license.validate(text)
              setText('')
              props.onDone(message)
            })
          }}
        >
          <TextArea label="Contents of license.lic" value={text} onInput={setText} rows={6} />
          <div class="row">
            <button type="submit" class="primary" disabled={activation.busy || text.trim() === ''}>
              {activation.busy ? 'Checking…' : 'Activate'}
            </button>
            <label class="button">
              Choose license.lic
              <input
                class="visually-hidden"
                type="file"
                accept=".lic,text/plain"
                onChange={(event) => void event.currentTarget.files?.[0]?.text().then(setText)}
              />
            </label>
          </div>
          {activation.error && <Failure error={activation.error} />}
        </form>
      </Panel>
      {props.withTrial && (
        <Panel title="Trial">
          <div class="form">
            <p class="muted">Valid for one month. Each data directory can start one trial.</p>
            {access.value.kind === 'root' ? (
              <div>
                <button
                  type="button"
                  disabled={trial.busy}
                  onClick={() => void trial.run(async () => props.onDone(await client('control').license.generate()))}
                >
                  {trial.busy ? 'Starting…' : 'Start the trial'}
                </button>
              </div>
            ) : (
              <p class="muted">Sign in with the root token to start the trial.</p>
            )}
            {trial.error && <Failure error={trial.error} />}
          </div>
        </Panel>
      )}
    </div>
  )
}
