extern "C" __global__ void MatrixMulKernel(float* a_data, float* b_data, float* c_data, int shape) {
  long long i = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long n = shape;
  if (i < n) {
    if (j < n) {
      char* a_row = (char*)a_data + i * n * (long long)sizeof(float);
      char* b_col = (char*)b_data + j * (long long)sizeof(float);
      float tmp = 0.;
      long long k = 0;
      while (k < n) {
        tmp += *(float*)(a_row + k * 4) * *(float*)(b_col + k * n * 4);
        k += 1;
      }
      c_data[i * n + j] = tmp;
    }
  }
}
