// A titled box, a row of figures, and a list of facts.
import type { ComponentChildren } from 'preact'

export function Panel(props: {
  readonly title?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly flush?: boolean
  readonly children: ComponentChildren
  readonly label?: string
}) {
  return (
    <section class="panel" aria-label={props.label}>
      {(props.title || props.actions) && (
        <header>
          <h2>{props.title}</h2>
          {props.actions && <div class="row">{props.actions}</div>}
        </header>
      )}
      <div class={props.flush ? 'body flush' : 'body'}>{props.children}</div>
    </section>
  )
}

export function Stat(props: { readonly label: string; readonly value: ComponentChildren; readonly unit?: string }) {
  return (
    <div class="panel stat">
      <h2>{props.label}</h2>
      <div class="value">
        {props.value} {props.unit && <span class="unit">{props.unit}</span>}
      </div>
    </div>
  )
}

export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([term, value]) => (
        <>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  )
}

export function PageHead(props: {
  readonly crumbs?: ComponentChildren
  readonly title: ComponentChildren
  readonly actions?: ComponentChildren
}) {
  return (
    <div class="page-head">
      <div class="grow">
        {props.crumbs && <div class="crumbs">{props.crumbs}</div>}
        <h1>{props.title}</h1>
      </div>
      {props.actions && <div class="row">{props.actions}</div>}
    </div>
  )
}

export function Badge(props: {
  readonly kind?: 'good' | 'warn' | 'bad' | 'accent' | undefined
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${props.kind ?? ''}`}>{props.children}</span>
}

export function Bar({ share, label }: { readonly share: number; readonly label: string }) {
  const percent = Math.round(Math.max(0, Math.min(1, share)) * 100)
  return (
    <div
      class="bar"
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${percent}%` }} />
    </div>
  )
}
