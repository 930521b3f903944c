// A table with headers; a wide table scrolls inside its box.
import type { ComponentChildren } from 'preact'
import { Scrollable } from './scrollable.tsx'

/** The header of the column of buttons: read by screen readers, not visible. */
export const actions = { name: 'Actions', hidden: true } as const

type Head = string | { readonly name: string; readonly right?: true; readonly hidden?: true }

export function Table(props: {
  readonly heads: readonly Head[]
  readonly kind?: string
  readonly children: ComponentChildren
}) {
  return (
    <Scrollable>
      <table class={props.kind}>
        <thead>
          <tr>
            {props.heads.map((head) => {
              const { name, right, hidden } = typeof head === 'string' ? { name: head } : head
              return (
                <th key={name} scope="col" class={right && 'right'}>
                  {hidden ? <span class="visually-hidden">{name}</span> : name}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </Scrollable>
  )
}
