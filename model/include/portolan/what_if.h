/* What if: change one parameter of a machine, or of a scenario's layout, for one run. */
#ifndef PORTOLAN_WHAT_IF_H
#define PORTOLAN_WHAT_IF_H

#include "portolan/api.h"
#include "portolan/machine.h"
#include "portolan/scenario.h"

PTO_API_BEGIN

/* Apply the change in `text`: PARAMETER=VALUE, or PARAMETER=*FACTOR or PARAMETER=/FACTOR for a relative
 * change. A parameter is a key or a group of pto_machine_params, or nodes, gpus_per_node, procs_per_gpu or
 * owners_per_gpu of the layout. In a key, * matches any text (copies.*.beta_s_per_byte=/2): all parameters
 * that match and have a value, limits of byte ranges and node.* aside. If none matches, names are compared
 * without their units (copies.*.beta=/2; beta is injection.*.s_per_byte, too), and then `network.` stands for
 * what is between nodes (network.*.beta=/2): messages.*.off_node, gap.cpu, gap.gpu, injection, network.
 * Values may have units (pto_quantity_parse). A changed parameter loses its interval, gets the line
 * PTO_LINE_WHAT_IF and is recorded in pto_machine_what_if. A VALUE adds a parameter that the machine lacks.
 *
 * The scenario need not be bound, and must be checked and bound afterwards. On an error both are unchanged.
 * Errors: PTO_ERR_TYPE (not PARAMETER=VALUE, not a number), PTO_ERR_NOT_FOUND (no such parameter, with the
 * nearest known one), PTO_ERR_RANGE (negative, not finite, not an integer where one is needed, ranges that
 * would overlap), PTO_ERR_MEMORY, and those of pto_scenario_bind. */
pto_status_t pto_what_if(const char *text, pto_scenario_t *scenario, pto_machine_t *machine,
                         pto_error_t *err);

/* Give a machine's parameter a value in SI units, as pto_what_if does with "KEY=VALUE", but never change a
 * layout: a group's value becomes that of all its rows. On an error the machine is unchanged. Errors:
 * PTO_ERR_NOT_FOUND, _RANGE, _MEMORY. */
pto_status_t pto_machine_set(pto_machine_t *machine, const char *key, double value, pto_error_t *err);

PTO_API_END

#endif
