// A box in which wide or long content scrolls. While it scrolls it can be reached and moved by the keyboard.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export function Scrollable(props: { readonly kind?: string; readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const update = () => {
      const scrolls = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight
      if (scrolls) element.tabIndex = 0
      else element.removeAttribute('tabindex')
    }
    // The box changes with the window, the content with the data.
    const observer = new ResizeObserver(update)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
    update()
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={box} class={props.kind ?? 'table-wrap'}>
      {props.children}
    </div>
  )
}
