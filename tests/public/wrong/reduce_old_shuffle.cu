#define BLOCK_SIZE 256
__inline__ __device__ float warpReduceSum(float val)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down(val, offset);
    return val;
}
__global__ void reduceKernel(float* in, float* out, int N)
{
    __shared__ float shared[32];
    int i = 2 * blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float sum = (i < N ? in[i] : 0) + (i + BLOCK_SIZE < N ? in[i + BLOCK_SIZE] : 0);
    sum = warpReduceSum(sum);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < BLOCK_SIZE / 32 ? shared[threadIdx.x] : 0;
        sum = warpReduceSum(sum);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }
}
