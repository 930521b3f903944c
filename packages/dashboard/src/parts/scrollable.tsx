// A box in which wide content scrolls. While it scrolls it can be reached and moved by the keyboard.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export function Scrollable(props: { readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (element === null) return
    const update = () => {
      const isWide = element.scrollWidth > element.clientWidth
      if (isWide) element.tabIndex = 0
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
    <div ref={box} class="table-wrap">
      {props.children}
    </div>
  )
}
