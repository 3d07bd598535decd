// float sum cas loop double
__device__ double addD(double* a, double v) {
    unsigned long long* p = (unsigned long long*)a;
    unsigned long long old = atomicAdd(p, 0ull), assumed;
    do { assumed = old; old = atomicCAS(p, assumed, __double_as_longlong(v + __longlong_as_double(assumed))); } while (assumed != old);
    return __longlong_as_double(old);
}
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ double total;
    int t = threadIdx.x;
    if (t == 0) total = 0.0;
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + t;
    double v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if (t % 32 == 0) addD(&total, v);
    __syncthreads();
    if (t == 0) output[blockIdx.x] = (float)total;
}
