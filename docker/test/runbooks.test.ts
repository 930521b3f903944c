// Every alert has a runbook, every runbook an alert, and each alert links to its own.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parse } from 'yaml'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(fileURLToPath(new URL(file, root)), 'utf8')

interface Rule {
  readonly alert: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

test('alerts and runbooks are the same, in the same order', async (t) => {
  const { groups } = parse(read('docker/monitoring/alerts.yml')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[]
  }
  const rules = groups.flatMap((group) => group.rules)
  const page = read('docs/guide/runbooks.md')
  const sections = page.split(/^## /m).slice(1)
  const titles = sections
    .map((section) => section.split('\n')[0] ?? '')
    .filter((title) => title !== 'Tests of this page')
  t.same(
    titles,
    rules.map(({ alert }) => alert),
  )
  for (const { alert, annotations, labels } of rules) {
    t.equal(annotations.runbook, `docs/guide/runbooks.md#${alert.toLowerCase()}`)
    t.match(labels.severity, /^(critical|warning)$/)
    const section = sections.find((one) => one.startsWith(`${alert}\n`)) ?? ''
    t.match(section, /^```sh\n/m, `${alert} has commands`)
    t.match(section, /^1\. /m, `${alert} says what to do`)
    t.match(section, /^(?:.+ )?Resolved .+\.$/m, `${alert} says when it is resolved`)
  }
})
