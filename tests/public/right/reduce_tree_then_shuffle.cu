#define BLOCK_SIZE 256
__global__ void reduceKernel(float* input, float* output, int len) {
  __shared__ float part[2 * BLOCK_SIZE];
  unsigned int t = threadIdx.x;
  unsigned int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  part[t] = (i < len) ? input[i] : 0.0f;
  if (i + BLOCK_SIZE < len) {
    part[t + BLOCK_SIZE] = input[i + BLOCK_SIZE];
  } else {
    part[t + BLOCK_SIZE] = 0.0f;
  }
  for (unsigned int stride = BLOCK_SIZE; stride >= 32; stride /= 2) {
    __syncthreads();
    if (t < stride) part[t] += part[t + stride];
  }
  __syncthreads();
  unsigned mask = 0xffffffff;
  float total = (t < 32) ? part[t] : 0.0f;
  total += __shfl_down_sync(mask, total, 16);
  total += __shfl_down_sync(mask, total, 8);
  total += __shfl_down_sync(mask, total, 4);
  total += __shfl_down_sync(mask, total, 2);
  total += __shfl_down_sync(mask, total, 1);
  if (t == 0) output[blockIdx.x] = total;
}
