"""Which route an alltoall takes on 8 nodes of Summit, how sure that is, and what the price consists of."""
import portolan

machine = portolan.Machine("summit-spectrum-refit")
for found in machine.pick("alltoall", {"from": 64, "to": 65536, "factor": 2}, nodes=8):
    print(f"from {found.start} bytes: {found.strategy}, {found.runner_up} takes {found.margin[0]:.0%} to {found.margin[1]:.0%} longer"
          + (", a near-tie" if found.near_tie else ""))

best = min((one for one in machine.predict("alltoall", 65536, nodes=8) if one.applicable), key=lambda one: one.seconds)
print(f"{best.strategy}: {best.seconds * 1e6:.0f} us, 95% from {best.interval.low * 1e6:.0f} to {best.interval.high * 1e6:.0f}")
for term in sorted(best.terms, key=lambda term: -term.seconds)[:3]:
    print(f"  {term.seconds * 1e6:6.1f} us: {term.count:g} times {term.key}, line {term.line}")
