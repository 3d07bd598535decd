#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

