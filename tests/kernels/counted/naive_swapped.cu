// Neighbouring threads take neighbouring rows: nothing is coalesced.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  int Row = blockIdx.x * blockDim.x + threadIdx.x;
  int Col = blockIdx.y * blockDim.y + threadIdx.y;
  if (Row < Width && Col < Width) {
    float sum = 0;
    for (int k = 0; k < Width; ++k) sum += M[Row * Width + k] * N[k * Width + Col];
    P[Row * Width + Col] = sum;
  }
}
