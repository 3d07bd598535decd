//!tilelab block=32 grid=Width
__global__ void rowSums(float* M, float* Sums, int Width) {
    float sum = 0.0f;
    for (int col = threadIdx.x; col < Width; col += 32) sum += M[blockIdx.x * Width + col];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0) Sums[blockIdx.x] = sum;
}
