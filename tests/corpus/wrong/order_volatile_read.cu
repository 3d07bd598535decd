// volatile read
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    int t = threadIdx.x;
    if (t == 0) total = 0.0f;
    __syncthreads();
    int i = 2 * blockIdx.x * blockDim.x + t;
    float v = (i < n ? input[i] : 0.0f) + (i + blockDim.x < n ? input[i + blockDim.x] : 0.0f);
    atomicAdd(&total, v);
    if (t == 0) output[blockIdx.x] = atomicAdd(&total, 0.0f);
}
