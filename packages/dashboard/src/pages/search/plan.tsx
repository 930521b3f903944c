// An explanation drawn as a plan: filter, a branch per field, fusion, objects; and where the time went.
import type { Explanation, FieldPlan } from '../../api/search.ts'
import { compact, count, ms, percent } from '../../show.ts'

const words: Record<FieldPlan['plan'], string> = {
  nothing: 'Nothing to do',
  scan: 'Exact scan',
  walk: 'Graph walk',
  lists: 'Inverted lists',
}

export function Plan({ of, fused }: { readonly of: Explanation; readonly fused: boolean }) {
  const fields = Object.entries(of.fields)
  return (
    <div class="stack">
      <div class="plan">
        <Step name="Query" lines={[fields.length === 1 ? 'one field' : `${fields.length} fields`]} />
        <Arrow />
        {of.filter && (
          <>
            <Step name="Filter" ms={of.filter.ms} lines={[`${count(of.filter.matches)} match`]} />
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
            <Step name="Fusion" ms={of.fuse_ms} lines={[]} />
            <Arrow />
          </>
        )}
        <Step name="Objects" ms={of.decorate_ms} lines={['ids, meta, filters']} />
      </div>
      <Times of={of} />
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
      {plan.costs && <Costs of={plan.costs} taken={plan.plan} />}
    </div>
  )
}

/** What the planner weighed against each other. */
function Costs({ of, taken }: { readonly of: NonNullable<FieldPlan['costs']>; readonly taken: string }) {
  const most = Math.max(of.scan, of.walk, 1)
  return (
    <div class="costs num small">
      {(['scan', 'walk'] as const).map((plan) => (
        <div key={plan} class={plan === taken ? '' : 'muted'}>
          <span>{plan}</span>
          <span class="cost" aria-hidden="true">
            <span style={{ width: `${Math.max(2, (100 * of[plan]) / most)}%` }} />
          </span>
          <span>{compact(of[plan])}</span>
        </div>
      ))}
    </div>
  )
}

function Arrow() {
  return <div class="arrow" aria-hidden="true" />
}

function Times({ of }: { readonly of: Explanation }) {
  const parts: (readonly [string, number])[] = [
    ...(of.filter ? [['filter', of.filter.ms] as const] : []),
    ...Object.entries(of.fields).map(([name, plan]) => [name, plan.ms] as const),
    ['fusion', of.fuse_ms],
    ['objects', of.decorate_ms],
  ]
  const known = parts.reduce((total, [, time]) => total + time, 0)
  // Fields are searched side by side, so their times may add up to more than the whole.
  const rest = of.total_ms - known
  const all = [...parts, ['waiting and the rest', Math.max(0, rest)] as const].filter(([, time]) => time > 0.0005)
  const total = all.reduce((sum, [, time]) => sum + time, 0) || 1
  const colour = (i: number) => `var(--c${(i % 8) + 1})`
  return (
    <div class="stack tight">
      <div class="shares" aria-hidden="true">
        {all.map(([name, time], i) => (
          <span key={name} style={{ width: `${(100 * time) / total}%`, background: colour(i) }} />
        ))}
      </div>
      <ul class="times num small">
        {all.map(([name, time], i) => (
          <li key={name}>
            <span class="key" style={{ background: colour(i) }} /> {name} <span class="muted">{ms(time)}</span>{' '}
            <span class="muted">{percent(time / total)}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
