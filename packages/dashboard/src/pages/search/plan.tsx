// A query plan as a diagram: filter, one branch per field, fusion and objects, with the time of each.
import type { Explanation, FieldPlan } from '../../api/search.ts'
import { compact, count, ms, msIn, share } from '../../show.ts'

const words: Record<FieldPlan['plan'], string> = {
  nothing: 'No candidates',
  scan: 'Exact scan',
  walk: 'Graph walk',
  lists: 'Inverted lists',
}

export function Plan({ explanation, fused }: { readonly explanation: Explanation; readonly fused: boolean }) {
  const fields = Object.entries(explanation.fields)
  return (
    <div class="stack">
      <div class="plan">
        <Step name="Query" lines={[fields.length === 1 ? 'one field' : `${fields.length} fields`]} />
        <Arrow />
        {explanation.filter && (
          <>
            <Step name="Filter" ms={explanation.filter.ms} lines={[`${count(explanation.filter.matches)} match`]} />
            <Arrow />
          </>
        )}
        <div class="branches">
          {fields.map(([name, plan]) => (
            <FieldStep key={name} name={name} plan={plan} />
          ))}
        </div>
        <Arrow />
        {fused && (
          <>
            <Step name="Fusion" ms={explanation.fuse_ms} lines={[]} />
            <Arrow />
          </>
        )}
        <Step name="Objects" ms={explanation.decorate_ms} lines={['ids, meta, filters']} />
      </div>
      <Times explanation={explanation} fused={fused} />
    </div>
  )
}

function Step(props: { readonly name: string; readonly ms?: number; readonly lines: readonly string[] }) {
  return (
    <div class="step">
      <strong>{props.name}</strong>
      {props.ms !== undefined && <span class="num">{ms(props.ms)}</span>}
      {props.lines.map((line) => (
        <span key={line} class="muted">
          {line}
        </span>
      ))}
    </div>
  )
}

function FieldStep({ name, plan }: { readonly name: string; readonly plan: FieldPlan }) {
  return (
    <div class={`step field-step ${plan.plan}`}>
      <div class="row spread tight">
        <strong>
          {words[plan.plan]} <span class="muted">of {name}</span>
        </strong>
        <span class="num">{ms(plan.ms)}</span>
      </div>
      <span class="muted">{plan.reason}</span>
      <span class="num small">
        {plan.ef !== undefined && `ef ${plan.ef} · `}
        {count(plan.visited)} visited · {count(plan.distances)} compared
      </span>
      {plan.terms && <Terms terms={plan.terms} />}
      {plan.costs && <Costs costs={plan.costs} taken={plan.plan} />}
    </div>
  )
}

/** The terms that were searched, with the number of texts that have each. */
function Terms({ terms }: { readonly terms: NonNullable<FieldPlan['terms']> }) {
  return (
    <ul class="times num small" aria-label="Terms">
      {terms.map(({ term, rows }) => (
        <li key={term}>
          <bdi class="mono">{term}</bdi>{' '}
          <span class="muted">
            {count(rows)} {rows === 1 ? 'text' : 'texts'}
          </span>
        </li>
      ))}
    </ul>
  )
}

/** The costs that the planner compared. */
function Costs({ costs, taken }: { readonly costs: NonNullable<FieldPlan['costs']>; readonly taken: string }) {
  const most = Math.max(costs.scan, costs.walk, 1)
  return (
    <div class="costs num small">
      <p class="muted">Estimated cost, in comparisons</p>
      {(['scan', 'walk'] as const).map((plan) => (
        <div key={plan} class={plan === taken ? '' : 'muted'}>
          <span>{plan}</span>
          <span class="cost" aria-hidden="true">
            <span style={{ width: `${Math.max(2, (100 * costs[plan]) / most)}%` }} />
          </span>
          <span>{compact(costs[plan])}</span>
        </div>
      ))}
    </div>
  )
}

function Arrow() {
  return <div class="arrow" aria-hidden="true" />
}

function Times({ explanation, fused }: { readonly explanation: Explanation; readonly fused: boolean }) {
  const parts: (readonly [string, number])[] = [
    ...(explanation.filter ? [['filter', explanation.filter.ms] as const] : []),
    ...Object.entries(explanation.fields).map(([name, plan]) => [name, plan.ms] as const),
    ...(fused ? [['fusion', explanation.fuse_ms] as const] : []),
    ['objects', explanation.decorate_ms],
  ]
  const known = parts.reduce((total, [, time]) => total + time, 0)
  // Fields are searched in parallel, so their times can add up to more than the total.
  const rest = explanation.total_ms - known
  const all = [...parts, ['waiting and other', Math.max(0, rest)] as const].filter(([, time]) => time > 0.0005)
  const total = all.reduce((sum, [, time]) => sum + time, 0) || 1
  const color = (i: number) => `var(--c${(i % 8) + 1})`
  const show = msIn(all.map(([, time]) => time))
  return (
    <div class="stack tight">
      <div class="shares" aria-hidden="true">
        {all.map(([name, time], i) => (
          <span key={name} style={{ width: `${(100 * time) / total}%`, background: color(i) }} />
        ))}
      </div>
      <ul class="times num small">
        {all.map(([name, time], i) => (
          <li key={name}>
            <span class="key" style={{ background: color(i) }} /> {name} <span class="muted">{show(time)}</span>{' '}
            <span class="muted">{share(time / total)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
