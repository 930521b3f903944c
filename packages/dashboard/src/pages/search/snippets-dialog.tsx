// The search as source code to copy.
import { useState } from 'preact/hooks'
import type { SearchBody } from '../../api/search.ts'
import { Code, CopyButton } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Segmented } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { access } from '../../session.ts'
import { type Language, languages, snippet } from './snippets.ts'

export function Snippets(props: {
  readonly collection: string
  readonly body?: SearchBody
  readonly fault?: Error
  readonly onClose: () => void
}) {
  const [language, setLanguage] = useState<Language>('curl')
  const withToken = access.value.kind !== 'open'
  const text =
    props.body === undefined
      ? undefined
      : snippet(language, { origin: location.origin, collection: props.collection, body: props.body, withToken })
  return (
    <Dialog title="This search as code" wide onClose={props.onClose}>
      <div class="stack tight">
        <div class="row spread">
          <Segmented
            label="Language"
            value={language}
            options={languages.map((name) => [name, name])}
            onInput={setLanguage}
          />
          {text && <CopyButton text={text} />}
        </div>
        {text === undefined ? (
          <Failure error={props.fault ?? new Error('the search is empty')} />
        ) : (
          <Code text={text} label={`The search in ${language}`} />
        )}
        {withToken && <p class="muted">The code does not contain the token. Set it in ANNAL_TOKEN.</p>}
      </div>
    </Dialog>
  )
}
