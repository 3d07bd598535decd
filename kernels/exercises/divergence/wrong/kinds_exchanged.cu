// Every third element is of the same kind, and each warp has one kind.

__global__ void threeWays(float* In, float* Out, int n, int rounds) {
    int kind = threadIdx.x / 32;
    int i = blockIdx.x * blockDim.x + 3 * (threadIdx.x % 32) + kind;

    float value = In[i];
    if (kind == 1) {
        for (int r = 0; r < rounds; ++r) {
            value += 1.0f;
        }
    } else if (kind == 0) {
        for (int r = 0; r < rounds; ++r) {
            value -= 1.0f;
        }
    } else {
        for (int r = 0; r < rounds; ++r) {
            value *= 2.0f;
        }
    }
    Out[i] = value;
}
