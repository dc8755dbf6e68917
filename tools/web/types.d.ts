// Types that most files of the page speak of, so that none has to import them.

type Child = import('../../crates/http/web/lib/dom.js').Child;
type Edge = import('../../crates/http/web/lib/shapes.js').Edge;
type Hit = import('../../crates/http/web/lib/shapes.js').Hit;
type Memory = import('../../crates/http/web/lib/shapes.js').Memory;
type Visit = import('../../crates/http/web/lib/router.js').Visit;
type WholeMemory = import('../../crates/http/web/lib/shapes.js').WholeMemory;
