// Parts of the dashboard whose code is loaded when they are first shown: charts and the map.
import { type ComponentType, h } from 'preact'
import { useLoad } from '../load.ts'
import { Failure, Loading } from './states.tsx'

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let loaded: ComponentType<Props> | undefined
  const loadOnce = async () => {
    try {
      loaded = await load()
    } catch (cause) {
      // Browsers remember that a module failed, so that only loading the page again helps.
      throw new Error('a part of the dashboard could not be loaded; reload the page', { cause })
    }
  }
  return function Lazy(props: Props) {
    const loading = useLoad(loadOnce, [])
    if (loaded !== undefined) return h(loaded, props)
    return loading.kind === 'failed' ? <Failure error={loading.error} /> : <Loading lines={6} />
  }
}
