#pragma once

#include "tapeless/train/session.h"

namespace tapeless {

/// What no program could avoid in one step.
struct StepWork {
  double flops = 0;  // of the contractions, forward and backward
  double bytes = 0;  // parameters, their gradients' effect and states read and written once, inputs
};
StepWork count_step_work(const Session& session, int64_t batch);

}  // namespace tapeless
