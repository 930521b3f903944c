// The measures of the settings, and whether their difference can be chance.
import { type Comparisons, measureNames } from '@annal/client/judging'
import { useState } from 'preact/hooks'
import { Code, CopyButton } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Table } from '../../parts/table.tsx'
import { count } from '../../show.ts'
import { measured, probability, signed } from './figures.ts'
import type { Judgment } from './judge.ts'
import { commandOf } from './presets.ts'

const names = { ndcg: 'nDCG', recall: 'recall', mrr: 'MRR' } as const
/** Below it, a difference is usually called significant. */
const alpha = 0.05

export function JudgmentPanel({ collection, judgment }: { readonly collection: string; readonly judgment: Judgment }) {
  const [copying, setCopying] = useState(false)
  const { wish, judged, comparisons, a, b } = judgment
  const right = (name: string) => ({ name, right: true }) as const
  const heads = [
    ...['Measure', right('A')],
    ...(comparisons === undefined
      ? []
      : ['B', 'B − A', '95 % interval', 'Better', 'Worse', 'Equal', 'p'].map((name) => right(name))),
  ]
  return (
    <Panel
      flush
      label="Judgment"
      title={
        <span class="num">
          {count(judged.length)} judged {judged.length === 1 ? 'query' : 'queries'}
        </span>
      }
      actions={
        <button type="button" class="compact" onClick={() => setCopying(true)}>
          <Icon name="console" size={13} /> As command
        </button>
      }
    >
      <Table heads={heads} kind="judgment">
        {measureNames.map((name) => {
          const compared = comparisons?.[name]
          return (
            <tr key={name}>
              <td>
                {names[name]}@{wish.k}
              </td>
              <td class="right">{measured(a[name])}</td>
              {compared && b && (
                <>
                  <td class="right">{measured(b[name])}</td>
                  <td class="right">{signed(compared.difference)}</td>
                  <td class="right">
                    {compared.interval && `${signed(compared.interval.low)} to ${signed(compared.interval.high)}`}
                  </td>
                  <td class="right">{count(compared.better)}</td>
                  <td class="right">{count(compared.worse)}</td>
                  <td class="right">{count(compared.equal)}</td>
                  <td class="right">{probability(compared.p)}</td>
                </>
              )}
            </tr>
          )
        })}
      </Table>
      <div class="more stack tight">
        {comparisons && <Verdict comparisons={comparisons} judgment={judgment} />}
        {judgment.unjudged > 0 && (
          <p class="muted num">{count(judgment.unjudged)} queries have no relevant document and were left out.</p>
        )}
        {judgment.missing > 0 && (
          <p class="muted num">{count(judgment.missing)} judged queries are not in the file of queries.</p>
        )}
      </div>
      {copying && <Command collection={collection} judgment={judgment} onClose={() => setCopying(false)} />}
    </Panel>
  )
}

function Verdict({ comparisons, judgment }: { readonly comparisons: Comparisons; readonly judgment: Judgment }) {
  const { difference, p, rounds, isExact } = comparisons.ndcg
  const isClear = p < alpha && difference !== 0
  const how = isExact ? `all ${count(rounds)} assignments` : `${count(rounds)} rounds, seed 1`
  return (
    <>
      <p>
        <strong>
          {isClear
            ? `${difference > 0 ? 'B' : 'A'} is better: chance alone rarely makes such a difference in nDCG@${judgment.wish.k}.`
            : `Not significant: chance alone may make such a difference in nDCG@${judgment.wish.k}.`}
        </strong>{' '}
        {!isClear && difference !== 0 && 'More judged queries may decide it.'}
      </p>
      <p class="muted num">
        Better, worse, and equal count queries. p: paired randomization test with {how}. The interval is Student’s, of
        the mean difference.
      </p>
    </>
  )
}

function Command(props: { readonly collection: string; readonly judgment: Judgment; readonly onClose: () => void }) {
  const { wish, rounds } = props.judgment
  const { queries, grades } = wish.files
  const text = commandOf({
    ...{ collection: props.collection, a: wish.a, b: wish.b, k: wish.k, rounds },
    queries: queries?.name ?? 'queries.jsonl',
    grades: grades?.name ?? 'qrels.tsv',
  })
  return (
    <Dialog title="This judgment as a command" wide onClose={props.onClose}>
      <div class="stack tight">
        <div class="row">
          <CopyButton text={text} />
        </div>
        <Code text={text} label="The judgment as a command" />
        <p class="muted">
          The command takes the address from <code>NDD_SERVER_URL</code> and the token from <code>ANNAL_TOKEN</code>,
          and exits with 1 if B is significantly worse.
        </p>
      </div>
    </Dialog>
  )
}
